package workflows

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestActionPrintsMistakesOnce: an annotation is also a line of the log.
func TestActionPrintsMistakesOnce(t *testing.T) {
	manifest := func(task string) map[string]string {
		return map[string]string{
			"m.yaml":      "version: 1\nmodel: script:s.yaml\nallow_unknown_price: true\ntasks: [" + task + "]\n",
			"s.yaml":      "version: 1\nturns: [{text: Done.}]\n",
			"denied.yaml": "version: 1\nturns: [{error: {status: 401, message: bad key}}]\n",
		}
	}
	for _, test := range []struct {
		name       string
		with       map[string]string
		task       string
		code       int
		annotation string
		once       string // in the log outside of the annotation; "" for nothing
	}{
		{
			name: "a mistake in the manifest", task: "{id: a, promt: x}", code: 2,
			annotation: `error title=millhand%3A m.yaml,file=m.yaml,line=4,col=17::m.yaml:4:17: unknown key "promt"; did you mean "prompt"?`,
		},
		{
			name: "a manifest that does not exist", with: map[string]string{"manifest": "no.yaml"}, code: 2,
			annotation: "error title=millhand%3A no.yaml::no.yaml: not found; check its path",
		},
		{
			name: "a missing key", with: map[string]string{"model": "openai/gpt-5-mini"}, task: "{id: a, prompt: x}", code: 6,
			annotation: "error title=millhand::missing API key for openai/gpt-5-mini: set the environment variable OPENAI_API_KEY",
		},
		{
			name: "a key that the provider rejects", with: map[string]string{"model": "script:denied.yaml"}, task: "{id: a, prompt: x}", code: 6,
			annotation: "error title=a%3A provider,file=m.yaml::model request failed (auth, HTTP 401): bad key",
			once:       "model request failed (auth, HTTP 401): bad key",
		},
		{
			name: "a job whose verify command fails", task: "{id: a, prompt: x, baseline: skip, verify: [{name: tests, run: echo two tests fail; exit 3}]}", code: 1,
			annotation: "error title=a%3A verify tests failed,file=m.yaml::exit code 3%0Atwo tests fail",
			once:       "verify tests failed after 1 attempt",
		},
		{
			name: "a job that changes nothing, and one that needs it", task: "{id: a, prompt: x, require_changes: true}, {id: b, prompt: x, needs: [a]}", code: 1,
			annotation: "error title=a%3A failed,file=m.yaml::the task requires changes and nothing was changed",
			once:       "the task requires changes and nothing was changed",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorkflow(t, manifest(test.task))
			w.with["manifest"] = "m.yaml"
			maps.Copy(w.with, test.with)
			r := w.run(t)
			if r.code != test.code {
				t.Errorf("exit code %d, want %d", r.code, test.code)
			}
			var annotations, others []string
			for line := range strings.Lines(r.log) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "::error "); ok {
					annotations = append(annotations, "error "+command)
				} else {
					others = append(others, line)
				}
			}
			if diff := cmp.Diff([]string{test.annotation}, annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			_, message, _ := strings.Cut(test.annotation, "::")
			log := strings.Join(others, "")
			if test.once == "" && strings.Contains(log, message) || test.once != "" && strings.Count(log, test.once) != 1 {
				t.Errorf("the log repeats the message:\n%s", r.log)
			}
			if slices.ContainsFunc(commandsIn(log), func(c string) bool { return strings.Contains(c, "warning") }) {
				t.Errorf("warnings in the log:\n%s", log)
			}
		})
	}
}
