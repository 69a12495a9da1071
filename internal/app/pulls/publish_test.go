package pulls

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// save writes a saved run with a job that failed, one without changes and one that can be published. The run did not
// end without ended.
func save(t *testing.T, ended bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f, err := os.Create(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stream := event.NewStream(time.Now, event.JSONL(f))
	jobs := []string{"failed", "empty", "changed"}
	started := &event.Run{ID: "r1"}
	for _, id := range jobs {
		started.Jobs = append(started.Jobs, event.PlannedJob{ID: id})
	}
	stream.Emit(event.Event{Type: event.RunStarted, Run: started})
	landing := &event.Landing{Branch: "millhand/changed", Remote: "https://git.example.com/acme/web.git", Publish: "pr"}
	for _, id := range jobs {
		stream.Emit(event.Event{Type: event.JobStarted, Job: id, JobStart: &event.JobStart{Base: strings.Repeat("b", 40), Landing: landing}})
		end := &event.JobEnd{Outcome: event.Passed}
		switch id {
		case "failed":
			end = &event.JobEnd{Outcome: event.Failed, Reason: "verify failed", ExitCode: event.ExitFailed}
		case "changed":
			end.Patch, end.PatchSHA256 = "patches/changed.patch", strings.Repeat("c", 64)
		}
		stream.Emit(event.Event{Type: event.JobEnded, Job: id, JobEnd: end})
	}
	if ended {
		stream.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ExitCode: event.ExitFailed}})
	}
	return dir
}

func plain() world.World {
	return world.World{Getenv: func(string) string { return "" }, Now: time.Now, Err: &bytes.Buffer{}}
}

func TestOnlyChangesOfPassedJobsArePublished(t *testing.T) {
	p, err := Begin(t.Context(), plain(), PublishOptions{Run: save(t, true), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, run := p.Saved(); !p.Pending() || run.ID != "r1" {
		t.Errorf("pending %t, run %s", p.Pending(), run.ID)
	}
	if err := p.Publish(t.Context(), &tasks.Plan{}, ""); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	result, exit := p.Result(t.Context())
	got := map[string]string{}
	for _, row := range result.Jobs {
		got[row.Job] = strings.TrimSuffix(string(row.Result)+": "+row.Reason, ": ")
	}
	if differ(t, got, map[string]string{"failed": "skipped: failed: verify failed", "empty": "skipped: it has no changes", "changed": "would publish"}); exit != event.ExitOK || result.Run != "r1" {
		t.Errorf("exit code %d of run %s", exit, result.Run)
	}
	var text bytes.Buffer
	if err := p.Print(&text); err != nil || !strings.HasSuffix(text.String(), "\n3 jobs: 1 would publish, 2 skipped\n") || !strings.Contains(text.String(), "millhand/changed") {
		t.Errorf("%s, %v", text.String(), err)
	}
}

func TestAJobThatHasNothingToPublishNeedsNoAccess(t *testing.T) {
	p, err := Begin(t.Context(), plain(), PublishOptions{Run: save(t, true), Jobs: []string{"failed"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Pending() {
		t.Errorf("pending: %+v", p.rows)
	}
}

func TestWhatCanNotBePublishedIsRefusedBeforeAnythingChanges(t *testing.T) {
	refused := func(name string, err error, text string) {
		t.Helper()
		var f fault.Error
		if !errors.As(err, &f) || f.Kind != event.ExitUsage || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Begin(t.Context(), plain(), PublishOptions{Run: save(t, false)})
	refused("a run that has not ended", err, "continue it with millhand run --resume")
	_, err = Begin(t.Context(), plain(), PublishOptions{Run: save(t, true), Jobs: []string{"unknown"}})
	refused("an unknown job", err, `job "unknown" not found`)
	_, err = Begin(t.Context(), plain(), PublishOptions{Run: t.TempDir()})
	refused("no run", err, "not found")

	dir := save(t, true)
	before, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Begin(t.Context(), plain(), PublishOptions{Run: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	err = p.Publish(t.Context(), &tasks.Plan{Policies: policy.Set{policy.ForUntrusted(nil)}}, "")
	refused("a policy", err, "nothing was published")
	if after, err := os.ReadFile(filepath.Join(dir, "events.jsonl")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the events have changed (%v)", err)
	}
}
