package outlook

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/waves"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/tasks"
)

// manifest has two tasks with two jobs each, and more keys.
func manifest(more string) string {
	return `version: 1
name: m
model: openai/gpt-5-mini
limits: {cost: 1}
` + more + `tasks:
  - {id: look, prompt: Look., profile: readonly, repos: [{path: .}], matrix: {dir: [a, b]}}
  - {id: fix, prompt: Fix., profile: build, repos: [{path: .}], verify: [go vet ./...], matrix: {dir: [a, b]}}
`
}

// in writes a manifest to a new repository, which becomes the current directory.
func in(t *testing.T, text string) (w world.World, out, log *strings.Builder) {
	t.Helper()
	s := gittest.NewSandbox(t)
	s.Write("m.yaml", text)
	s.Commit()
	t.Chdir(s.Root)
	out, log = &strings.Builder{}, &strings.Builder{}
	env := map[string]string{"HOME": s.Home, "PATH": os.Getenv("PATH"), "OPENAI_API_KEY": "sk-0"}
	return world.World{Dir: s.Root, Out: out, Err: log, Now: time.Now, Getenv: func(name string) string { return env[name] }, Rollouts: waves.Rollouts{}}, out, log
}

// show shows the manifest in a format.
func show(t *testing.T, w world.World, o Options) error {
	t.Helper()
	o.Plan.Manifests = []string{"m.yaml"}
	err := Show(t.Context(), w, o)
	for _, p := range fault.ProblemsOf(err) {
		t.Log(p)
	}
	return err
}

func TestAJobThatWouldBeRefusedCostsNothing(t *testing.T) {
	w, out, _ := in(t, strings.ReplaceAll(manifest(""), "prompt: Fix., profile: build, repos: [{path: .}]", "prompt: Fix., profile: build, repos: [{path: "+t.TempDir()+"}]"))
	if err := show(t, w, Options{Format: "json"}); err != nil {
		t.Fatal(err)
	}
	var doc planDocument
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Jobs) != 4 || doc.MaxCost == nil || doc.MaxCost.String() != "2" {
		t.Errorf("%d jobs, at most %v", len(doc.Jobs), doc.MaxCost)
	}
	for _, j := range doc.Jobs {
		refused := j.Task == "fix"
		if refused != (j.Note != nil && j.Note.Action == "refuse") || refused != (*j.MaxCost == 0) {
			t.Errorf("%s: note %v, maximum cost %v", j.ID, j.Note, j.MaxCost)
		}
	}
	if err := show(t, w, Options{Format: "table", Check: true}); err == nil || !strings.Contains(err.Error(), "2 jobs would be refused") {
		t.Errorf("--check: %v", err)
	}
}

func TestTableNamesWhatIsUnlimited(t *testing.T) {
	w, out, _ := in(t, strings.ReplaceAll(manifest(""), "limits: {cost: 1}\n", ""))
	if err := show(t, w, Options{Format: "table"}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "unlimited") != 5 || !strings.Contains(text, "4 jobs, unlimited cost, ") {
		t.Errorf("%s", text)
	}
}

func TestMatrixHasEachShardWithJobsOnce(t *testing.T) {
	for shards, want := range map[int]int{0: 4, 1: 1, 2: 2} {
		w, out, _ := in(t, manifest(""))
		if err := show(t, w, Options{Format: "github-matrix", Shards: shards}); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Include []struct {
				Shard              string
				Index, Total, Jobs int
			}
		}
		if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
			t.Fatal(err)
		}
		jobs := 0
		for _, e := range doc.Include {
			jobs += e.Jobs
			if e.Jobs == 0 || e.Shard != fmt.Sprintf("%d/%d", e.Index, e.Total) {
				t.Errorf("%d shards: %+v", shards, e)
			}
		}
		if jobs != 4 || len(doc.Include) > want {
			t.Errorf("%d shards: %d jobs in %d entries", shards, jobs, len(doc.Include))
		}
	}
}

const twoWaves = "rollout: {waves: [1, 100%]}\n"

func TestRolloutIsNoMatrixAndNotesLaterWaves(t *testing.T) {
	w, out, _ := in(t, manifest(twoWaves))
	if err := show(t, w, Options{Format: "github-matrix"}); err == nil || !strings.Contains(err.Error(), "can't be combined with a rollout") {
		t.Errorf("a matrix: %v", err)
	}
	if err := show(t, w, Options{Format: "json"}); err != nil {
		t.Fatal(err)
	}
	var doc planDocument
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	later := 0
	for _, j := range doc.Jobs {
		if j.Note != nil && j.Note.Code == string(event.CodeRollout) {
			later++
		}
	}
	if later != 3 || doc.Rollout == nil || len(doc.Rollout.Waves) != 2 {
		t.Errorf("%d jobs of later waves: %s", later, out)
	}
	out.Reset()
	if err := show(t, w, Options{Format: "table"}); err != nil || !strings.Contains(out.String(), "WAVE") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestValidManifestIsNotRun(t *testing.T) {
	w, out, log := in(t, manifest(""))
	if err := Validate(t.Context(), w, load.Options{Manifests: []string{"m.yaml"}}); err != nil || out.String() != "m.yaml: 4 jobs, no problems found\n" {
		t.Errorf("%v: %s%s", err, out, log)
	}
	if _, err := os.Stat(".millhand"); err == nil {
		t.Error("a report directory was created")
	}
}

func TestMistakesInOptionsOfAPlan(t *testing.T) {
	for want, o := range map[string]Options{
		"must be from 1 to 256":    {Format: "table", Shards: 257},
		"unknown plan format":      {Format: "xml"},
		"plan requires a manifest": {Format: "json"},
	} {
		t.Chdir(t.TempDir())
		if err := o.Parse(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSetupIsPrintedOnceForJobsWithTheSameHosts(t *testing.T) {
	plan := &tasks.Plan{}
	notes := map[string]setupNote{}
	for i := range 5 {
		id := fmt.Sprint("j", i)
		plan.Jobs = append(plan.Jobs, tasks.Job{ID: id})
		notes[id] = setupNote{Hosts: []string{"*", "10.0.0.1"}}
	}
	notes["j4"] = setupNote{Hosts: []string{}, Output: "a model wrote them"}
	delete(notes, "j0")
	var b strings.Builder
	if err := printSetups(&b, plan, notes); err != nil {
		t.Fatal(err)
	}
	want := "setup of j1, j2, j3 may reach all public hosts, 10.0.0.1\nsetup of j4 may reach no host, as its other commands: a model wrote them\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", &b, want)
	}
}

// A push of an earlier commit may still run the job, if the remote has the branch and was not asked.
func TestOnlyAPushThatMayAppendRuns(t *testing.T) {
	appends := tasks.Job{Commit: &tasks.Commit{IfExists: tasks.AppendIfExists}}
	for _, tt := range []struct {
		note note
		job  tasks.Job
		want bool
	}{
		{note{}, tasks.Job{}, true},
		{note{Action: "skip"}, appends, false},
		{note{Action: "push"}, appends, true},
		{note{Action: "push", asked: true}, appends, false},
		{note{Action: "push"}, tasks.Job{Commit: &tasks.Commit{}}, false},
	} {
		if got := tt.note.runs(tt.job); got != tt.want {
			t.Errorf("%+v: %t", tt.note, got)
		}
	}
}
