package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withCustom gives a stage a custom tool of the name deploy.
func (s *stage) withCustom(c Custom) {
	s.Helper()
	c.Name, c.Description = "deploy", "puts the shop into service"
	tool, err := NewCustom(c)
	if err != nil {
		s.Fatal(err)
	}
	s.allow("deploy", "*")
	s.equip(nil, tool)
}

func script(text string) []string { return []string{"bash", "-c", text} }

func TestACustomToolReadsJSONAndReturnsItsOutput(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	s.withCustom(Custom{
		Command: script(`cat; echo; cat a.txt; pwd; echo noise >&2; test -t 0 || echo none; echo "$1"`),
		Schema:  json.RawMessage(`{"properties": {"stage": {"type": "string", "enum": ["test", "live"]}, "n": {"type": "integer"}}, "required": ["stage"], "additionalProperties": false}`),
	})
	out := s.call("Deploy", args{"stage": "live", "n": "3"})
	s.want(out, Completed)
	if diff := cmp.Diff(`{"n":3,"stage":"live"}`+"\none\n"+s.dir+"\nnone\n\n", out.Output); diff != "" {
		t.Error(diff)
	}
	if out.Tool != "deploy" || out.Title != `{"n":3,"stage":"live"}` || out.Decision.Source != "m.yaml:3" || *out.Metadata.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
	for input, want := range map[string]string{
		`{}`: "missing required argument stage", `{"stage": "prod"}`: "stage: expected one of test, live, got \"prod\"", `{"stage": "live", "x": 1}`: "unknown argument x", `[`: "arguments are not valid JSON",
	} {
		s.want(s.raw("deploy", input), Failed, want)
	}
}

func TestCustomToolErrors(t *testing.T) {
	tests := []struct {
		name string
		tool Custom
		want string
	}{
		{"an exit code", Custom{Command: script("echo so far; echo why >&2; exit 3")}, "Error: tool deploy failed with exit code 3: why\n\nso far\n"},
		{"without words", Custom{Command: script("exit 3")}, "Error: tool deploy failed with exit code 3"},
		{"a signal", Custom{Command: script("kill -KILL $$")}, "Error: tool deploy was killed by signal (killed)"},
		{"no such program", Custom{Command: []string{"no-such-program"}}, "failed with exit code 127: bash: line 1: exec: no-such-program: not found"},
		{"many words", Custom{Command: script("seq 100000 >&2; exit 1")}, "99999\n100000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "readonly", nil)
			s.withCustom(tt.tool)
			out := s.call("deploy", args{})
			s.want(out, Failed, tt.want)
			if len(out.Text()) > 3000 {
				t.Errorf("the model reads %d bytes", len(out.Text()))
			}
		})
	}
}

// millhand reads the file of standard error without a sandbox, so the command may not choose another one.
func TestErrorsOfACustomToolAreNotReadThroughASymlink(t *testing.T) {
	for _, replace := range []string{`ln -s "$PWD/../secret"`, "mkfifo"} {
		s := setUp(t, "readonly", nil)
		if err := os.WriteFile(filepath.Join(filepath.Dir(s.dir), "secret"), []byte("hunter2"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.env.ChildEnv = append(s.env.ChildEnv, "TMPDIR="+t.TempDir())
		s.withCustom(Custom{Command: script(`cd "$PWD"; f=$(readlink /proc/self/fd/2); rm "$f"; ` + replace + ` "$f"; exit 3`)})
		out := s.call("deploy", args{})
		s.want(out, Failed, "Error: tool deploy failed with exit code 3")
		if strings.Contains(out.Text(), "hunter2") {
			t.Errorf("%s: the model reads %s", replace, out.Text())
		}
	}
}

func TestACustomToolTimesOut(t *testing.T) {
	s := setUp(t, "readonly", nil)
	out, limit := withTimeouts(func(limit time.Duration) Outcome {
		s.withCustom(Custom{Command: script("echo so far; sleep 1000"), Timeout: limit})
		return s.call("deploy", args{})
	})
	s.want(out, Failed, fmt.Sprintf("Error: tool deploy timed out after %s; narrow the request\n\nso far\n", limit))
}

// withTimeouts calls a command that prints "so far" with growing timeouts, until it had
// the time to: a busy machine starts programs slowly.
func withTimeouts(call func(limit time.Duration) Outcome) (out Outcome, limit time.Duration) {
	for limit = 250 * time.Millisecond; ; limit *= 2 {
		if out = call(limit); limit > 20*time.Second || strings.Contains(out.Text(), "\nso far") {
			return out, limit
		}
	}
}

func TestACustomToolLeavesNothingBehind(t *testing.T) {
	s := setUp(t, "readonly", nil)
	tmp := filepath.Join(s.base, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	s.env.ChildEnv = append(s.env.ChildEnv, "TMPDIR="+tmp)
	s.withCustom(Custom{Command: script("cat")})
	s.want(s.call("deploy", args{}), Completed, "{}")
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestACustomToolIsDeniedUnlessARuleNamesIt(t *testing.T) {
	s := setUp(t, "full", nil)
	tool, err := NewCustom(Custom{Name: "deploy", Description: "x", Command: script("touch pwned")})
	if err != nil {
		t.Fatal(err)
	}
	s.equip(nil, tool)
	before := s.tree()
	s.want(s.call("deploy", args{}), Denied, `denied: deploy "*"`)
	s.allow("deploy", "*")
	s.deny("dep*", "*")
	s.want(s.call("deploy", args{}), Denied, "m.yaml:4")
	s.unchanged(before)
}

func TestLongOutputOfACustomToolIsSaved(t *testing.T) {
	s := setUp(t, "readonly", nil)
	s.withCustom(Custom{Command: script("seq 1 100000")})
	out := s.call("deploy", args{})
	saved := out.Metadata.OutputPath
	s.want(out, Completed, "only the tail of 588895 bytes", saved, "100000\n")
	if !strings.HasPrefix(filepath.Base(saved), "deploy-") {
		t.Errorf("it is kept in %s", saved)
	}
	s.withCustom(Custom{Command: script("true")})
	s.want(s.call("deploy", args{}), Completed, "(no output)")
}

func TestCustomToolsAreChecked(t *testing.T) {
	good := Custom{Name: "deploy-2", Description: "x", Command: []string{"true"}}
	if _, err := NewCustom(good); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type": "object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Custom){
		"invalid tool name \"\"":                     func(c *Custom) { c.Name = "" },
		"invalid tool name \"a b\"":                  func(c *Custom) { c.Name = "a b" },
		"invalid tool name \"1\"":                    func(c *Custom) { c.Name = "1" },
		"has no description":                         func(c *Custom) { c.Description = " " },
		"has no command":                             func(c *Custom) { c.Command = nil },
		"type is string":                             func(c *Custom) { c.Schema = json.RawMessage(`{"type": "string"}`) },
		"not valid JSON":                             func(c *Custom) { c.Schema = json.RawMessage(`{`) },
		"must be a JSON object":                      func(c *Custom) { c.Schema = json.RawMessage(`[]`) },
		"invalid schema of tool deploy-2: ":          func(c *Custom) { c.Schema = json.RawMessage(`{"properties": 3}`) },
		"nothing is read from elsewhere":             func(c *Custom) { c.Schema = json.RawMessage(`{"$ref": "file://` + file + `"}`) },
		`'https://example.com/schema.json': nothing`: func(c *Custom) { c.Schema = json.RawMessage(`{"$ref": "https://example.com/schema.json"}`) },
	} {
		c := good
		change(&c)
		if _, err := NewCustom(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}
