package archive

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/report"
)

// noon is the current time in the tests.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// saveRun writes the files of a run of two jobs: its first events, or all events and a
// report if it ended. It returns the run's directory.
func saveRun(t *testing.T, dir, id string, started time.Time, ended bool) string {
	t.Helper()
	var events bytes.Buffer
	fold := &report.Fold{}
	now := started
	s := event.NewStream(func() time.Time { now = now.Add(time.Second); return now }, event.JSONL(&events), fold)
	plan := []event.PlannedJob{{ID: "a", Task: "a", Repo: "r"}, {ID: "b", Task: "b", Repo: "r"}}
	s.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: id, Manifest: []string{"m.yaml"}, PlanHash: "0123456789abcdef", Jobs: plan}})
	s.Emit(event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Passed, CostUSD: new(money.Dollar / 4)}})
	if ended {
		s.Emit(event.Event{Type: event.JobEnded, Job: "b", JobEnd: &event.JobEnd{Outcome: event.Failed, ExitCode: 1, CostUSD: new(money.Dollar / 2)}})
		s.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ExitCode: 1, ElapsedMS: 90_000}})
	}
	writeTestFile(t, filepath.Join(dir, "events.jsonl"), events.String())
	if ended {
		var text bytes.Buffer
		if err := report.JSON(&text, fold.Report()); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, filepath.Join(dir, "report.json"), text.String())
	}
	return dir
}

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runsLine lists or prunes runs at noon with the options of a command line.
func runsLine(t *testing.T, args ...string) (exit event.Exit, stdout, stderr string) {
	t.Helper()
	var o PruneOptions
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.Dir, "dir", "", "")
	flags.IntVar(&o.Keep, "keep", -1, "")
	flags.DurationVar(&o.OlderThan, "older-than", 0, "")
	flags.BoolVar(&o.DryRun, "dry-run", false, "")
	json := flags.Bool("json", false, "")
	if err := flags.Parse(args[1:]); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	w := world.World{Out: &out, Err: &errs, Now: noon}
	var err error
	if args[0] == "list" {
		err = List(w, ListOptions{Dir: o.Dir, JSON: *json})
	} else if err = o.Check(); err != nil {
		err = fault.Wrap(event.ExitUsage, err)
	} else {
		err = Prune(t.Context(), w, o)
	}
	if err != nil {
		errs.WriteString(err.Error())
	}
	return fault.ExitOf(err), out.String(), errs.String()
}

func TestListOfCompleteAndCorruptRuns(t *testing.T) {
	dir := t.TempDir()
	at := func(hour int) time.Time { return time.Date(2026, 3, 2, hour, 0, 0, 0, time.UTC) }
	saveRun(t, filepath.Join(dir, "one"), "one", at(1), true)
	saveRun(t, filepath.Join(dir, "two"), "two", at(2), false)
	saveRun(t, filepath.Join(dir, "three"), "three", at(3), true)
	os.Remove(filepath.Join(dir, "three", "report.json"))
	saveRun(t, filepath.Join(dir, "four"), "four", at(4), false)
	lock, err := rundir.TakeLock(t.Context(), filepath.Join(dir, "four"), "four", clock.Clock{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for name, text := range map[string]string{"five": "\x1b[2Jno event\n", "six": "", "seven": "{\"seq\":1"} {
		writeTestFile(t, filepath.Join(dir, name, "events.jsonl"), text)
	}
	for hour, name := range map[int]string{5: "five", 6: "six", 7: "seven"} {
		if err := os.Chtimes(filepath.Join(dir, name, "events.jsonl"), at(hour), at(hour)); err != nil {
			t.Fatal(err)
		}
	}
	// None of these is a run.
	writeTestFile(t, filepath.Join(dir, "notes", "report.json"), "{}")
	writeTestFile(t, filepath.Join(dir, "file"), "")
	writeTestFile(t, filepath.Join(dir, "directory", "events.jsonl", "x"), "")
	symlink(t, filepath.Join(dir, "one"), filepath.Join(dir, "link"))
	writeTestFile(t, filepath.Join(dir, "linked", "x"), "")
	symlink(t, filepath.Join(dir, "one", "events.jsonl"), filepath.Join(dir, "linked", "events.jsonl"))

	exit, out, errs := runsLine(t, "list", "--dir", dir)
	want := `RUN    STARTED               ELAPSED  OUTCOME     EXIT  JOBS  COST   PLAN
seven  2026-03-02T07:00:00Z  -        unfinished  -     -/0   -      -
six    2026-03-02T06:00:00Z  -        unfinished  -     -/0   -      -
five   2026-03-02T05:00:00Z  -        damaged     -     -/0   -      -
four   2026-03-02T04:00:01Z  7h59m  running     -     -/2   -      0123456789ab
three  2026-03-02T03:00:01Z  1m30s    failed      1     -/2   -      0123456789ab
two    2026-03-02T02:00:01Z  1.0s     unfinished  -     -/2   -      0123456789ab
one    2026-03-02T01:00:01Z  1m30s    failed      1     1/2   $0.7500  0123456789ab
`
	if diff := cmp.Diff(fields(want), fields(out)); diff != "" || exit != 0 {
		t.Errorf("exit %d\n%s", exit, diff)
	}
	if want := "five is corrupt: read the first event: invalid character"; !strings.Contains(errs, want) || strings.Contains(errs, "\x1b") {
		t.Errorf("standard error %q does not say %q", errs, want)
	}

	exit, out, _ = runsLine(t, "list", "--dir", dir, "--json")
	var doc struct{ Runs []map[string]any }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || exit != 0 || len(doc.Runs) != 7 {
		t.Fatalf("exit %d, %v: %s", exit, err, out)
	}
	wantJSON := map[string]any{
		"id": "one", "dir": filepath.Join(dir, "one"), "started_at": "2026-03-02T01:00:01Z", "elapsed_ms": 90_000.0, "outcome": "failed",
		"exit_code": 1.0, "jobs": 2.0, "passed": 1.0, "cost_usd": 0.75, "plan_hash": "0123456789abcdef", "manifest": []any{"m.yaml"},
	}
	if diff := cmp.Diff(wantJSON, doc.Runs[6]); diff != "" {
		t.Error(diff)
	}
}

// fields removes the padding of columns from a table.
func fields(table string) [][]string {
	var lines [][]string
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// exists reports whether a run exists.
func exists(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "events.jsonl"))
	return err == nil
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultDirectoryMayBeMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ args, out, errs string }{
		{"list", "", "millhand: no runs found in .millhand/runs\n"},
		{"list --json", "{\n  \"dir\": \".millhand/runs\",\n  \"runs\": []\n}\n", ""},
		{"prune --keep 3", "removed 0 runs, freed 0 B; 0 left\n", ""},
	} {
		if exit, out, errs := runsLine(t, strings.Fields(tt.args)...); exit != 0 || out != tt.out || errs != tt.errs {
			t.Errorf("%s: exit %d, %q, %q", tt.args, exit, out, errs)
		}
	}
	for _, args := range []string{
		"list --dir missing", "prune --keep 3 --dir missing", "prune", "prune --keep -1", "prune --keep 1 --older-than -1h",
	} {
		if exit, out, errs := runsLine(t, strings.Fields(args)...); exit != 2 || out != "" || errs == "" {
			t.Errorf("%s: exit %d, %q, %q; want 2 and a reason", args, exit, out, errs)
		}
	}
}

func TestPrune(t *testing.T) {
	tests := []struct {
		args string
		left string
	}{
		{"--keep 2", "d1 d2 file link notes"},
		{"--keep 0", "file link notes"},
		{"--keep 9", "d1 d2 d3 d4 d5 file link notes"},
		{"--keep 2 --older-than 84h", "d1 d2 d3 file link notes"},
		{"--keep 2 --older-than 1h", "d1 d2 file link notes"},
		{"--keep 2 --dry-run", "d1 d2 d3 d4 d5 file link notes"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			dir := t.TempDir()
			elsewhere := saveRun(t, filepath.Join(t.TempDir(), "elsewhere"), "elsewhere", noon().AddDate(-1, 0, 0), true)
			for days := range 5 {
				name := fmt.Sprintf("d%d", days+1)
				run := saveRun(t, filepath.Join(dir, name), name, noon().AddDate(0, 0, -days-1), days%2 == 0)
				symlink(t, elsewhere, filepath.Join(run, "outputs"))
				writeTestFile(t, filepath.Join(run, "work", "cache", "x"), "x")
				cache := filepath.Join(run, "work", "cache")
				if err := os.Chmod(cache, 0o500); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Chmod(cache, 0o700) })
			}
			symlink(t, elsewhere, filepath.Join(dir, "link"))
			writeTestFile(t, filepath.Join(dir, "notes", "report.json"), "{}")
			writeTestFile(t, filepath.Join(dir, "file"), "")

			exit, out, errs := runsLine(t, append([]string{"prune", "--dir", dir}, strings.Fields(tt.args)...)...)
			if exit != 0 || errs != "" {
				t.Errorf("exit %d: %s", exit, errs)
			}
			if diff := cmp.Diff(strings.Fields(tt.left), names(t, dir)); diff != "" {
				t.Errorf("left behind: %s\n%s", diff, out)
			}
			if !strings.Contains(out, " left\n") {
				t.Errorf("said %q", out)
			}
			if got := names(t, elsewhere); !slices.Equal(got, []string{"events.jsonl", "report.json"}) {
				t.Errorf("a symlink was followed: %v is left", got)
			}
		})
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestPruneReportsRemovedRunsAndFreedSpace(t *testing.T) {
	dir := t.TempDir()
	old := saveRun(t, filepath.Join(dir, "old"), "old", noon().AddDate(0, 0, -2), true)
	writeTestFile(t, filepath.Join(old, "outputs", "big"), strings.Repeat("x", 3<<20))
	saveRun(t, filepath.Join(dir, "new"), "new", noon(), false)
	for _, verb := range []string{"would remove", "removed"} {
		args := []string{"prune", "--keep", "1", "--dir", dir}
		if verb == "would remove" {
			args = append(args, "--dry-run")
		}
		_, out, _ := runsLine(t, args...)
		for _, want := range []string{verb + " " + old + " (failed, 3.2 MB)\n", verb + " 1 run, ", " 3.2 MB; 1 left\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q lacks %q", out, want)
			}
		}
	}
}

func TestActiveRunIsNotRemoved(t *testing.T) {
	dir := t.TempDir()
	going := saveRun(t, filepath.Join(dir, "going"), "going", noon().AddDate(0, 0, -9), false)
	lock, err := rundir.TakeLock(t.Context(), going, "going", clock.Clock{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	if exit, out, errs := runsLine(t, "prune", "--keep", "0", "--dir", dir); exit != 0 || !exists(going) {
		t.Errorf("exit %d, %s%s", exit, out, errs)
	}
	// A run that started after the list was read.
	p := pruning{world: world.World{Out: io.Discard, Now: noon}}
	p.prune(t.Context(), rundir.Saved{Dir: going, Outcome: rundir.Unfinished})
	if p.errs != nil || p.removed != 0 || !exists(going) {
		t.Errorf("%d removed, %v", p.removed, p.errs)
	}
	lock.Close()
	if exit, out, errs := runsLine(t, "prune", "--keep", "0", "--dir", dir); exit != 0 || exists(going) {
		t.Errorf("afterwards: exit %d, %s%s", exit, out, errs)
	}
}

// The latest run of a reused report directory is never removed.
func TestReportDirectoryKeepsItsLatestRun(t *testing.T) {
	dir := saveRun(t, t.TempDir(), "latest", noon(), true)
	for i, name := range []string{"first", "second", "third"} {
		saveRun(t, filepath.Join(dir, "earlier", "before-"+name), name, noon().AddDate(0, 0, i-9), true)
	}
	list := func() []string {
		t.Helper()
		_, out, _ := runsLine(t, "list", "--dir", dir)
		var ids []string
		for _, line := range fields(out)[1:] {
			ids = append(ids, line[0])
		}
		return ids
	}
	if diff := cmp.Diff([]string{"latest", "third", "second", "first"}, list()); diff != "" {
		t.Error(diff)
	}
	for _, step := range []struct {
		keep string
		left []string
	}{{"3", []string{"latest", "third", "second"}}, {"0", []string{"latest"}}} {
		if exit, _, errs := runsLine(t, "prune", "--keep", step.keep, "--dir", dir); exit != 0 {
			t.Errorf("--keep %s: exit %d, %s", step.keep, exit, errs)
		}
		if diff := cmp.Diff(step.left, list()); diff != "" {
			t.Errorf("--keep %s: %s", step.keep, diff)
		}
	}
}

func TestSymlinkToEarlierRunsIsNotFollowed(t *testing.T) {
	dir := saveRun(t, t.TempDir(), "latest", noon(), true)
	elsewhere := t.TempDir()
	saveRun(t, filepath.Join(elsewhere, "run"), "run", noon(), true)
	symlink(t, elsewhere, filepath.Join(dir, "earlier"))
	if exit, out, errs := runsLine(t, "prune", "--keep", "0", "--dir", dir); exit != 0 || !exists(filepath.Join(elsewhere, "run")) {
		t.Errorf("exit %d: %s%s", exit, out, errs)
	}
}
