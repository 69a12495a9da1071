package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"

	"github.com/google/go-cmp/cmp"
)

func TestACustomToolReadsJSONAndReturnsItsOutput(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	s.WithCustom(command.Custom{
		Command: tooltest.Script(`cat; echo; cat a.txt; pwd; echo noise >&2; test -t 0 || echo none; echo "$1"`),
		Schema:  json.RawMessage(`{"properties": {"stage": {"type": "string", "enum": ["test", "live"]}, "n": {"type": "integer"}}, "required": ["stage"], "additionalProperties": false}`),
	})
	out := s.Call("Deploy", tooltest.Args{"stage": "live", "n": "3"})
	s.Want(out, tools.Completed)
	if diff := cmp.Diff(`{"n":3,"stage":"live"}`+"\none\n"+s.Dir+"\nnone\n\n", out.Output); diff != "" {
		t.Error(diff)
	}
	if out.Tool != "deploy" || out.Title != `{"n":3,"stage":"live"}` || out.Decision.Source != "m.yaml:3" || *out.Metadata.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
	for input, want := range map[string]string{
		`{}`: "missing required argument stage", `{"stage": "prod"}`: "stage: expected one of test, live, got \"prod\"", `{"stage": "live", "x": 1}`: "unknown argument x", `[`: "arguments are not valid JSON",
	} {
		s.Want(s.Raw("deploy", input), tools.Failed, want)
	}
}

func TestCustomToolErrors(t *testing.T) {
	tests := []struct {
		name string
		tool command.Custom
		want string
	}{
		{"an exit code", command.Custom{Command: tooltest.Script("echo so far; echo why >&2; exit 3")}, "Error: tool deploy failed with exit code 3: why\n\nso far\n"},
		{"without words", command.Custom{Command: tooltest.Script("exit 3")}, "Error: tool deploy failed with exit code 3"},
		{"a signal", command.Custom{Command: tooltest.Script("kill -KILL $$")}, "Error: tool deploy was killed by signal (killed)"},
		{"no such program", command.Custom{Command: []string{"no-such-program"}}, "failed with exit code 127: bash: line 1: exec: no-such-program: not found"},
		{"many words", command.Custom{Command: tooltest.Script("seq 100000 >&2; exit 1")}, "99999\n100000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "readonly", nil)
			s.WithCustom(tt.tool)
			out := s.Call("deploy", tooltest.Args{})
			s.Want(out, tools.Failed, tt.want)
			if len(out.Text()) > 3000 {
				t.Errorf("the model reads %d bytes", len(out.Text()))
			}
		})
	}
}

// millhand reads the file of standard error without a sandbox, so the command may not choose another one.
func TestErrorsOfACustomToolAreNotReadThroughASymlink(t *testing.T) {
	for _, replace := range []string{`ln -s "$PWD/../secret"`, "mkfifo"} {
		s := tooltest.SetUp(t, "readonly", nil)
		if err := os.WriteFile(filepath.Join(filepath.Dir(s.Dir), "secret"), []byte("hunter2"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Env.ChildEnv = append(s.Env.ChildEnv, "TMPDIR="+t.TempDir())
		s.WithCustom(command.Custom{Command: tooltest.Script(`cd "$PWD"; f=$(readlink /proc/self/fd/2); rm "$f"; ` + replace + ` "$f"; exit 3`)})
		out := s.Call("deploy", tooltest.Args{})
		s.Want(out, tools.Failed, "Error: tool deploy failed with exit code 3")
		if strings.Contains(out.Text(), "hunter2") {
			t.Errorf("%s: the model reads %s", replace, out.Text())
		}
	}
}

func TestACustomToolTimesOut(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	out, limit := tooltest.WithTimeouts(func(limit time.Duration) tools.Outcome {
		s.WithCustom(command.Custom{Command: tooltest.Script("echo so far; sleep 1000"), Timeout: limit})
		return s.Call("deploy", tooltest.Args{})
	})
	s.Want(out, tools.Failed, fmt.Sprintf("Error: tool deploy timed out after %s; narrow the request\n\nso far\n", limit))
}

func TestACustomToolLeavesNothingBehind(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	tmp := filepath.Join(s.Base, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	s.Env.ChildEnv = append(s.Env.ChildEnv, "TMPDIR="+tmp)
	s.WithCustom(command.Custom{Command: tooltest.Script("cat")})
	s.Want(s.Call("deploy", tooltest.Args{}), tools.Completed, "{}")
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestACustomToolIsDeniedUnlessARuleNamesIt(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	tool, err := tools.NewCustom(command.Custom{Name: "deploy", Description: "x", Command: tooltest.Script("touch pwned")})
	if err != nil {
		t.Fatal(err)
	}
	s.Equip(nil, tool)
	before := s.Tree()
	s.Want(s.Call("deploy", tooltest.Args{}), tools.Denied, `denied: deploy "*"`)
	s.Allow("deploy", "*")
	s.Deny("dep*", "*")
	s.Want(s.Call("deploy", tooltest.Args{}), tools.Denied, "m.yaml:4")
	s.Unchanged(before)
}

func TestLongOutputOfACustomToolIsSaved(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.WithCustom(command.Custom{Command: tooltest.Script("seq 1 100000")})
	out := s.Call("deploy", tooltest.Args{})
	saved := out.Metadata.OutputPath
	s.Want(out, tools.Completed, "only the tail of 588895 bytes", saved, "100000\n")
	if !strings.HasPrefix(filepath.Base(saved), "deploy-") {
		t.Errorf("it is kept in %s", saved)
	}
	s.WithCustom(command.Custom{Command: tooltest.Script("true")})
	s.Want(s.Call("deploy", tooltest.Args{}), tools.Completed, "(no output)")
}

func TestCustomToolsAreChecked(t *testing.T) {
	good := command.Custom{Name: "deploy-2", Description: "x", Command: []string{"true"}}
	if _, err := tools.NewCustom(good); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type": "object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*command.Custom){
		"invalid tool name \"\"":                     func(c *command.Custom) { c.Name = "" },
		"invalid tool name \"a b\"":                  func(c *command.Custom) { c.Name = "a b" },
		"invalid tool name \"1\"":                    func(c *command.Custom) { c.Name = "1" },
		"has no description":                         func(c *command.Custom) { c.Description = " " },
		"has no command":                             func(c *command.Custom) { c.Command = nil },
		"type is string":                             func(c *command.Custom) { c.Schema = json.RawMessage(`{"type": "string"}`) },
		"not valid JSON":                             func(c *command.Custom) { c.Schema = json.RawMessage(`{`) },
		"must be a JSON object":                      func(c *command.Custom) { c.Schema = json.RawMessage(`[]`) },
		"invalid schema of tool deploy-2: ":          func(c *command.Custom) { c.Schema = json.RawMessage(`{"properties": 3}`) },
		"nothing is read from elsewhere":             func(c *command.Custom) { c.Schema = json.RawMessage(`{"$ref": "file://` + file + `"}`) },
		`'https://example.com/schema.json': nothing`: func(c *command.Custom) { c.Schema = json.RawMessage(`{"$ref": "https://example.com/schema.json"}`) },
	} {
		c := good
		change(&c)
		if _, err := tools.NewCustom(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}
