package merge

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// shard writes the events of one of two shards of a run, whose job ended with an outcome.
func shard(t *testing.T, index int, outcome event.Outcome, exit event.Exit) string {
	t.Helper()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	s := event.NewStream(func() time.Time { now = now.Add(time.Second); return now }, event.JSONL(&b))
	id := []string{"a", "b"}[index-1]
	plan := []event.PlannedJob{{ID: "a", Task: "a", Repo: "r", Shard: 1}, {ID: "b", Task: "b", Repo: "r", Shard: 2}}
	s.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "run-" + id, Manifest: []string{"m.yaml"}, PlanHash: "0123456789abcdef", Jobs: plan[index-1 : index], Shard: &event.Shard{Index: index, Total: 2}, Elsewhere: slices.Delete(slices.Clone(plan), index-1, index)}})
	s.Emit(event.Event{Type: event.JobEnded, Job: id, JobEnd: &event.JobEnd{Outcome: outcome, ExitCode: exit}})
	s.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: outcome, ExitCode: exit}})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func merged(t *testing.T, o Options) (printed string, err error) {
	t.Helper()
	var out strings.Builder
	err = Shards(t.Context(), world.World{Out: &out, Err: &out, Now: time.Now, Getenv: func(string) string { return "" }}, o)
	return out.String(), err
}

func TestShardsHaveTheReportsAndTheExitCodeOfTheirRun(t *testing.T) {
	one, two := shard(t, 1, event.Passed, event.ExitOK), shard(t, 2, event.Failed, event.ExitFailed)
	for name, want := range map[string]event.Exit{"any": event.ExitFailed, "never": event.ExitOK} {
		failOn, err := event.ParseFailOn(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "all")
		out, err := merged(t, Options{Dirs: []string{one, two}, ReportDir: dir, FailOn: failOn})
		if fault.ExitOf(err) != want || !strings.Contains(out, "1 passed, 1 failed") || !strings.HasSuffix(out, "\nreports: "+dir+"\n") {
			t.Errorf("--fail-on %s: %v: %s", name, err, out)
		}
		for _, file := range []string{"events.jsonl", "report.json", "junit.xml", "summary.md", "report.html"} {
			if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", file, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".events*")); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	}
}

func TestNothingIsWrittenForWhatIsNoShard(t *testing.T) {
	one := shard(t, 1, event.Passed, event.ExitOK)
	for want, o := range map[string]Options{
		"is not a report directory":             {Dirs: []string{one, t.TempDir()}, ReportDir: filepath.Join(t.TempDir(), "all")},
		"so the reports can't be written there": {Dirs: []string{one}, ReportDir: one + "/."},
	} {
		o.FailOn = event.FailOnAny
		out, err := merged(t, o)
		if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), want) || strings.Contains(out, "reports:") {
			t.Errorf("got %v, want %q: %s", err, want, out)
		}
		if _, err := os.Stat(filepath.Join(o.ReportDir, "report.json")); err == nil {
			t.Errorf("%s: a report was written", want)
		}
	}
}

func TestArgumentsOfAMerge(t *testing.T) {
	if err := (&Options{}).Parse([]string{"one"}); err == nil {
		t.Error("no report directory is required")
	}
	o := Options{ReportDir: "all"}
	if err := o.Parse([]string{"one", "two"}); err != nil || len(o.Dirs) != 2 {
		t.Errorf("%v: %+v", err, o)
	}
}

func TestMissingShardFailsTheRun(t *testing.T) {
	one := shard(t, 1, event.Passed, event.ExitOK)
	out, err := merged(t, Options{Dirs: []string{one, one}, ReportDir: filepath.Join(t.TempDir(), "all"), FailOn: event.FailOnAny})
	if fault.ExitOf(err) != event.ExitFailed || !strings.Contains(out, "not run: shard 2/2 is missing") || !strings.Contains(out, "counted once") {
		t.Errorf("%v: %s", err, out)
	}
}
