package workflows

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/e2e/scripts"
)

// TestTheWorkflowsOfTheExamples holds the workflows of examples/github to what
// their readme promises; .github/action/lint checks their form.
func TestTheWorkflowsOfTheExamples(t *testing.T) {
	files, err := filepath.Glob(scripts.Root(t) + "/examples/github/*.yml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, scripts.Root(t)+"/.github/workflows/ci.yml") {
		var w struct {
			Permissions map[string]string
			Concurrency *struct{ Group string }
			Jobs        map[string]struct {
				Permissions    *map[string]string
				TimeoutMinutes int `yaml:"timeout-minutes"`
				Steps          []struct {
					Uses, Run string
					With      map[string]string
				}
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &w); err != nil {
			t.Fatal(file, err)
		}
		example := slices.Contains(files, file)
		if w.Permissions == nil || example && (len(w.Permissions) > 0 || w.Concurrency == nil) {
			t.Errorf("%s: permissions %v, concurrency %v", file, w.Permissions, w.Concurrency)
		}
		for name, job := range w.Jobs {
			if job.TimeoutMinutes == 0 || example && job.Permissions == nil {
				t.Errorf("%s: job %s has no timeout or says no permissions", file, name)
			}
			for _, step := range job.Steps {
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: an expression in a script: %s", file, step.Run)
				}
				own := strings.HasPrefix(step.Uses, "millhand/") || step.Uses == "./"
				if step.Uses != "" && !own && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: %s is not pinned", file, step.Uses)
				}
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != "false" {
					t.Errorf("%s: the checkout leaves a token in .git", file)
				}
			}
		}
	}
}

func TestTheManifestsOfTheExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob(scripts.Root(t) + "/examples/github/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := newWorkflow(t, map[string]string{"m.yaml": read(t, file)})
			cmd := exec.CommandContext(t.Context(), "millhand", "validate", "m.yaml")
			cmd.Dir = w.workspace
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestTheBulkWorkflowMakesOneReportOfAllMachines runs the scripts of bulk.yml
// and the action with the inputs that it has there, machine by machine, on a
// manifest whose model is scripted.
func TestTheBulkWorkflowMakesOneReportOfAllMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	var flow struct {
		Jobs map[string]struct {
			Steps []struct {
				ID, Name, Uses, Run string
				With                map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, scripts.Root(t)+"/examples/github/bulk.yml")), &flow); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"care.yaml": "version: 1\nmodel: script:model.yaml\nprofile: edit\nrepos: [{copy: ./one}, {copy: ./two}]\n" +
			"tasks: [{id: note, prompt: Note it., matrix: {n: [1, 2, 3]}}, {id: never, prompt: x, profile: readonly, require_changes: true}]\n",
		"model.yaml": "version: 1\nturns: [{calls: [{tool: write, args: {filePath: a.txt, content: x}}]}, {text: Done.}]\n",
		"one/b.txt":  "b", "two/b.txt": "b",
	}
	merge := newWorkflow(t, files)
	merge.env["MANIFEST"] = "care.yaml"
	script := func(job, step string) result {
		t.Helper()
		cmd := merge.command(t)
		for _, s := range flow.Jobs[job].Steps {
			if s.ID == step || s.Name == step {
				cmd.Args = []string{"bash", "-e", "-c", s.Run}
				return merge.finish(t, cmd, func(*os.Process) {})
			}
		}
		t.Fatalf("bulk.yml has no step %s in the job %s", step, job)
		return result{}
	}
	var matrix struct {
		Include []struct{ Shard string }
	}
	if err := json.Unmarshal([]byte(script("plan", "plan").outputs["matrix"]), &matrix); err != nil || len(matrix.Include) < 2 {
		t.Fatalf("matrix %+v, %v", matrix, err)
	}
	jobs := 0
	for i, part := range matrix.Include {
		machine := newWorkflow(t, files)
		for _, s := range flow.Jobs["run"].Steps {
			if strings.HasPrefix(s.Uses, "millhand/millhand@") {
				maps.Copy(machine.with, s.With)
			}
		}
		maps.Copy(machine.with, map[string]string{"manifest": "care.yaml", "shard": part.Shard, "api-key": "", "publish": "", "max-cost": ""})
		r := machine.run(t)
		n, err := strconv.Atoi(r.outputs["jobs-total"])
		if err != nil || n == 0 {
			t.Errorf("shard %s: %v, outputs %q\n%s", part.Shard, err, r.outputs, r.log)
		}
		jobs += n
		if err := os.CopyFS(filepath.Join(merge.workspace, "shards", fmt.Sprintf("shard-%d", i)), os.DirFS(r.outputs["report-dir"])); err != nil {
			t.Fatal(err)
		}
	}
	r := script("merge", "merge")
	var rep struct {
		Run struct {
			Totals struct{ Jobs, Passed, Failed int }
		}
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(merge.workspace, "merged/report.json"))), &rep); err != nil {
		t.Fatal(err)
	}
	if got := rep.Run.Totals; r.code != 1 || jobs != 8 || got.Jobs != 8 || got.Passed != 6 || got.Failed != 2 {
		t.Errorf("exit code %d of %d jobs in %d parts: %+v\n%s", r.code, jobs, len(matrix.Include), got, r.log)
	}
	if !strings.Contains(r.summary, "never") {
		t.Errorf("summary: %s", r.summary)
	}
}
