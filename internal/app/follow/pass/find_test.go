package pass

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func TestRunsAreFoundByDirectoryAndManifest(t *testing.T) {
	f := newFleet(t, "", "one")
	t.Chdir(f.dir)
	for of, want := range map[string]string{
		"run": f.run(), f.run(): f.run(), "pulls.yaml": f.run(), filepath.Join(f.dir, "repo", "..", "pulls.yaml"): f.run(),
		"missing.yaml": "missing.yaml is neither a saved run nor a manifest", filepath.Join("repo", "README"): "no saved run of ",
	} {
		dirs, err := find(f.world, Options{Of: of, Dir: f.dir})
		switch {
		case err != nil && (fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", of, err)
		case err == nil && (len(dirs) != 1 || dirs[0] != want):
			t.Errorf("%s: %q, want %q", of, dirs, want)
		}
	}

	// One process follows a run at a time, and the lock is a file of its directory.
	lock, err := rundir.TakeFollowLock(t.Context(), f.run(), f.world.Clock())
	if err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), f.world, Options{Of: "run"}); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "in use by a pass that follows the run") {
		t.Errorf("%v", err)
	}
	lock.Close()
	at := filepath.Join(f.run(), "follow.lock")
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(f.dir, "elsewhere"), at); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), f.world, Options{Of: "run"}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a symlink: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(f.dir, "elsewhere")); err == nil {
		t.Error("the target of the symlink was created")
	}
}

// cut removes the events of the run from the last one of a type on, as a kill before it would.
func (f *fleet) cut(last event.Type) {
	f.T.Helper()
	name := filepath.Join(f.run(), "events.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		f.T.Fatal(err)
	}
	i := strings.LastIndex(string(text), `"type":"`+string(last)+`"`)
	if i < 0 {
		f.T.Fatalf("no %s in %s", last, text)
	}
	if err := os.WriteFile(name, text[:strings.LastIndexByte(string(text[:i]), '\n')+1], 0o600); err != nil {
		f.T.Fatal(err)
	}
}

func TestARunThatHasNotEndedIsLeftToResume(t *testing.T) {
	f := newFleet(t, "", "red")
	f.cut(event.RunEnded)
	err := Make(t.Context(), f.world, Options{Of: f.run()})
	if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "has not ended: continue it with millhand run --resume "+f.run()) {
		t.Errorf("%v", err)
	}
}

// A pass ends a session of an earlier one that was killed, unless it is a dry run.
func TestAKilledFollowUpIsContinued(t *testing.T) {
	f := newFleet(t, "", "red")
	f.check("red", branch, forgetest.Run{Name: "test", Status: "failure"})
	f.pass(t.Context(), nil)
	before, requests := f.head("acme/red", branch), f.requests
	f.cut(event.RunEnded)
	if err := Make(t.Context(), f.world, Options{Of: f.run(), DryRun: true}); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a dry run: %v", err)
	}
	rows, exit := f.pass(t.Context(), nil)
	if f.results(rows, map[string]string{"red": "nothing: nothing to do"}); exit != event.ExitOK || f.head("acme/red", branch) != before || f.requests != requests {
		t.Errorf("exit code %d, %d requests of models, commit %s after %s", exit, f.requests-requests, f.head("acme/red", branch), before)
	}
}

func TestRowsArePrintedAsLines(t *testing.T) {
	var out strings.Builder
	w := world.World{Out: &out}
	rows := []Row{{Job: "a", Repo: "web", Result: "fixed", Commit: strings.Repeat("f", 40), URL: "https://forge.test/1"}, {Job: "b\x1b[31m", Result: "failed", Reason: "line\n::error::x"}}
	if err := print(w, false, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 || strings.Contains(out.String(), "\x1b") {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{"JOB REPO RESULT COMMIT URL", "a web fixed ffffffffff https://forge.test/1"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if fields := strings.Fields(lines[2]); !strings.HasSuffix(lines[2], "-") || fields[len(fields)-2] != "-" || !strings.HasPrefix(lines[3], "b") || !strings.Contains(lines[3], ": line") {
		t.Errorf("%q", lines)
	}
	out.Reset()
	if err := print(w, true, []Row{}); err != nil || strings.Join(strings.Fields(out.String()), "") != `{"jobs":[]}` {
		t.Errorf("%s, %v", &out, err)
	}
}
