package reference

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

func TestSchemasAreJSONWithTheirNames(t *testing.T) {
	for _, name := range Schemas() {
		var out strings.Builder
		err := Schema(&out, name)
		var doc struct{ Title string }
		if parsed := json.Unmarshal([]byte(out.String()), &doc); err != nil || parsed != nil || doc.Title != "millhand "+name {
			t.Errorf("%s: %v, %v, title %q", name, err, parsed, doc.Title)
		}
	}
	var out, named strings.Builder
	if err := Schema(&out, ""); err != nil || Schema(&named, "manifest") != nil || out.String() != named.String() {
		t.Errorf("without a name: %v", err)
	}
	err := Schema(&out, "manifst")
	if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "did you mean manifest?") {
		t.Errorf("a name with a mistake: %v", err)
	}
}

// Each key that is completed can be explained, alone.
func TestEveryCompletedKeyIsExplained(t *testing.T) {
	keys := KeyPaths()
	if len(keys) < 100 {
		t.Errorf("%d keys", len(keys))
	}
	for _, key := range keys {
		var out strings.Builder
		if err := Explain(&out, false, key); err != nil || !strings.HasPrefix(strings.ReplaceAll(out.String(), "[]", ""), key+" (") {
			t.Errorf("%s: %v: %s", key, err, &out)
		}
	}
}

func TestExplainKey(t *testing.T) {
	for line, want := range map[string]string{
		"limits.turns":         "limits.turns (integer, default 100)\n  Model requests of a job\n",
		"tasks.id":             "tasks[].id (string, required)\n  Unique name",
		"verify":               "tasks[].verify (list of string or mapping or string)\n  Commands that must succeed",
		"tasks[].verify":       "    tasks[].verify[].name  Name in reports",
		"vars.region":          "vars (map of string)\n  Variables for",
		"profiles.careful.env": "profiles.NAME.env (list of string)\n",
		"tasks":                "below it; see 'millhand explain tasks.*'",
		"author.*":             "Email address of the author\n",
		"version":              "a file of at most 1 MiB",
		"tool_output":          "    tool_output.lines  Lines; longer output is truncated and saved to a file (default 2000)\n",
		"--policy hosts":       "hosts (list of string)\n  Hosts that may be reached",
	} {
		var out strings.Builder
		key, policy := strings.CutPrefix(line, "--policy ")
		if err := Explain(&out, policy, key); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%swant %s", line, err, &out, want)
		}
	}
	for line, want := range map[string]string{
		"tasks.verfiy": "unknown key tasks.verfiy; did you mean tasks.verify?; docs/manifest.md lists all keys",
		"limits.x":     "unknown key limits.x",
		"notify":       "unknown key notify",
	} {
		var out strings.Builder
		if err := Explain(&out, false, line); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: %v, %s", line, err, &out)
		}
	}
}
