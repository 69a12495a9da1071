package workflows

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// exampleWorkflow is a workflow of examples/github or examples/clouds.
type exampleWorkflow struct {
	On          map[string]any
	Concurrency any
	Env         map[string]string
	Jobs        map[string]exampleJob
}

type exampleJob struct {
	If          string
	Permissions map[string]string
	Env         map[string]string
	Outputs     map[string]string
	Steps       []struct {
		ID, If, Uses, Run string
		With, Env         map[string]string
	}
}

// workflowFiles returns the files of the workflows that end so: yml, or yaml for their manifests.
func workflowFiles(t *testing.T, ext string, count int) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"github", "clouds"} {
		files, err := filepath.Glob(scripts.Root(t) + "/examples/" + dir + "/*." + ext)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "-policy.yaml") })...)
	}
	if len(all) != count {
		t.Fatal(all)
	}
	return all
}

func exampleWorkflows(t *testing.T) map[string]exampleWorkflow {
	t.Helper()
	files := workflowFiles(t, "yml", 10)
	all := map[string]exampleWorkflow{}
	for _, file := range files {
		var w exampleWorkflow
		if err := yaml.Unmarshal([]byte(read(t, file)), &w); err != nil {
			t.Fatal(file, err)
		}
		all[filepath.Base(file)] = w
	}
	return all
}

// TestTheExamplesHaveTheLeastPermissions: who adds one has to say so here.
func TestTheExamplesHaveTheLeastPermissions(t *testing.T) {
	want := map[string]string{
		"aws.yml look": "contents: read, id-token: write", "google.yml look": "contents: read, id-token: write", "azure.yml look": "contents: read, id-token: write",
		"bulk.yml merge": "", "bulk.yml plan": "contents: read", "bulk.yml run": "contents: read",
		"comment.yml work":    "contents: write, issues: write, pull-requests: write",
		"evidence.yml attest": "attestations: write, id-token: write", "evidence.yml work": "contents: write",
		"nightly.yml care": "contents: write", "on-demand.yml run": "contents: read", "review.yml review": "contents: read, pull-requests: write, security-events: write",
		"triage.yml triage": "contents: read", "triage.yml publish": "contents: read, issues: write", // no job has a key of a model and may write
	}
	got := map[string]string{}
	for file, w := range exampleWorkflows(t) {
		for name, job := range w.Jobs {
			var list []string
			for _, scope := range slices.Sorted(maps.Keys(job.Permissions)) {
				list = append(list, scope+": "+job.Permissions[scope])
			}
			got[file+" "+name] = strings.Join(list, ", ")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// TestTheExamplesGiveNothingToStrangers: the code of forks is never checked out where there
// are secrets, only millhand gets these, and nobody's comment can cancel a run.
func TestTheExamplesGiveNothingToStrangers(t *testing.T) {
	for file, w := range exampleWorkflows(t) {
		for _, event := range []string{"pull_request_target", "workflow_run"} {
			if _, ok := w.On[event]; ok {
				t.Errorf("%s: the event %s has secrets and the code of forks", file, event)
			}
		}
		_, comments := w.On["issue_comment"]
		if comments && w.Concurrency != nil {
			t.Errorf("%s: the group of a workflow is entered before the if of its jobs is evaluated", file)
		}
		_, pulls := w.On["pull_request"]
		for name, job := range w.Jobs {
			for _, condition := range []string{"github.event.pull_request.head.repo.full_name == github.repository", "github.actor != 'dependabot[bot]'"} {
				if pulls && !strings.Contains(job.If, condition) { // it would fail for want of a key
					t.Errorf("%s: %s lacks the condition %s", file, name, condition)
				}
			}
			for _, env := range []map[string]string{w.Env, job.Env} {
				if secretIn(env) {
					t.Errorf("%s: all steps of %s get a secret", file, name)
				}
			}
			for _, s := range job.Steps {
				own := strings.HasPrefix(s.Uses, "millhand/millhand@") || strings.HasPrefix(s.Run, "millhand publish ")
				if (secretIn(s.With) || secretIn(s.Env)) && !own {
					t.Errorf("%s: the step %s%s of %s gets a secret", file, s.Uses, s.Run, name)
				}
				ref, checkout := s.With["ref"], strings.HasPrefix(s.Uses, "actions/checkout@")
				if checkout && ref != "" && ref != "${{ github.event.repository.default_branch }}" || checkout && comments && ref == "" {
					t.Errorf("%s: %s checks out %q", file, name, ref)
				}
			}
		}
	}
}

var secret = regexp.MustCompile(`\b(secrets\.|github\.token\b)`)

func secretIn(values map[string]string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(values)), secret.MatchString)
}

// TestTheExamplesUseWhatTheActionsHave: an input that does not exist is only a warning of the
// runner, and an output that does not exist is empty.
func TestTheExamplesUseWhatTheActionsHave(t *testing.T) {
	used := regexp.MustCompile(`steps\.([\w-]+)\.outputs\.([\w-]+)`)
	for file, w := range exampleWorkflows(t) {
		for name, job := range w.Jobs {
			outputs := map[string]map[string]bool{} // by the id of a step
			for _, s := range job.Steps {
				known := map[string]bool{}
				for _, written := range regexp.MustCompile(`echo "([\w-]+)=.*>>"\$GITHUB_OUTPUT"`).FindAllStringSubmatch(s.Run, -1) {
					known[written[1]] = true
				}
				if action, ok := strings.CutPrefix(s.Uses, "millhand/millhand"); ok {
					dir, _, _ := strings.Cut(strings.TrimPrefix(action, "/"), "@")
					m := readMetadata(t, dir)
					for output := range m.Outputs {
						known[output] = true
					}
					for input := range s.With {
						if _, ok := m.Inputs[input]; !ok {
							t.Errorf("%s: %s has no input %s", file, s.Uses, input)
						}
					}
				}
				outputs[s.ID] = known
			}
			text, err := yaml.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range used.FindAllStringSubmatch(string(text), -1) {
				if !outputs[u[1]][u[2]] {
					t.Errorf("%s: %s uses %s, which no step has", file, name, u[0])
				}
			}
		}
	}
}
