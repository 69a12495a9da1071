package workflows

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/action"
)

// TestActionRunsAPromptAsATask checks the inputs of the task that a prompt is.
func TestActionRunsAPromptAsATask(t *testing.T) {
	w := newWorkflow(t, map[string]string{
		"schema.json": `{"type": "object", "properties": {"changed": {"type": "integer"}}, "required": ["changed"]}`,
		"turns.yaml": `version: 1
turns:
  - text: "{\"changed\": 0}"
  - calls: [{tool: write, args: {filePath: a.txt, content: "a\n"}}]
  - text: "{\"changed\": 1}"
`,
	})
	maps.Copy(w.with, map[string]string{
		"prompt": "Write a.txt, and mention ${{ env.HOME }}.", "model": "script:turns.yaml", "profile": "build", "verify": "test -f a.txt\n\ngrep -q a a.txt\n",
		"attempts": "2", "output-schema": "schema.json", "effort": "low", "cache": "none", "publish": "branch",
	})
	r := w.run(t)
	if r.code != 0 || r.outputs["conclusion"] != "success" || r.outputs["structured-output"] != `{"changed":1}` || r.outputs["branches"] != `["millhand/prompt"]` {
		t.Errorf("exit code %d, %v\n%s", r.code, r.outputs, r.log)
	}
	var rep struct {
		Jobs []struct {
			Attempts int
			Profile  string
			Verify   []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, r.outputs["report-json"])), &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.Jobs) != 1 || rep.Jobs[0].Attempts != 2 || rep.Jobs[0].Profile != "prompt" || len(rep.Jobs[0].Verify) != 4 {
		t.Errorf("reported: %+v", rep.Jobs)
	}
}

func TestActionRefusesInputsOfPromptsWithManifests(t *testing.T) {
	for input, value := range map[string]string{"verify": "true", "attempts": "2", "output-schema": "s.json", "effort": "low", "cache": "go", "comment": "true"} {
		w := newWorkflow(t, map[string]string{"m.yaml": plainManifest})
		w.with["manifest"], w.with[input] = "m.yaml", value
		if r := w.run(t); r.code != 2 || !strings.Contains(r.log, "input "+input+": only for prompt") {
			t.Errorf("%s: exit code %d\n%s", input, r.code, r.log)
		}
	}
}

func TestActionCommentsOnTheEventsSubject(t *testing.T) {
	for payload, want := range map[string]string{
		`{"issue": {"number": 5}}`:                                        `{"issue":5,"sticky":false}`,
		`{"issue": {"number": 6, "pull_request": {}}}`:                    `{"pull_request":6,"sticky":false}`,
		`{"pull_request": {"number": 7}, "review": {"body": "x"}}`:        `{"pull_request":7,"sticky":false}`,
		`{"ref": "refs/heads/main"}`:                                      "",
		`{"issue": {"number": "5; touch pwned"}}`:                         "",
		`{"pull_request": {"number": -1}, "issue": {"number": -1}}`:       "",
		`{"comment": {"body": "x"}, "issue": {"number": 8, "title": ""}}`: `{"issue":8,"sticky":false}`,
	} {
		target, err := action.CommentTarget([]byte(payload), false)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", payload, err)
			}
			continue
		}
		in := action.Inputs{Prompt: "x"}
		in.Task.Comment = target
		files, err := in.Manifests(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Tasks []struct {
				Publish struct{ Comment json.RawMessage }
			}
		}
		if err := json.Unmarshal([]byte(read(t, files[0])), &m); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(string(m.Tasks[0].Publish.Comment)), "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", payload, diff)
		}
	}
}
