package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/sandbox"
)

func TestSweepRemovesOnlyDirectoriesOfKilledRuns(t *testing.T) {
	tmp, now := t.TempDir(), time.Now()
	directory := func(name string) string {
		dir := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(dir, "trees", "job"), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	locked := func(name string) (string, *Lock) {
		dir := directory(name)
		lock, err := TakeLock(t.Context(), dir, "r1", at(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		return dir, lock
	}
	left, lock := locked("millhand-00000001")
	lock.file.Close() // as the kernel does
	running, lock := locked("millhand-00000002")
	defer lock.Close()
	foreign, lock := locked("millhand-notes")
	lock.Close()
	onPurpose := directory("millhand-00000003")
	if err := os.MkdirAll(filepath.Join(left, privateReports, "patches"), 0o755); err != nil { // its reports were not moved yet
		t.Fatal(err)
	}
	rescued := filepath.Join(tmp, "millhand-report-00000001", "patches")
	young, old := filepath.Join(tmp, unlockedName+"1"), filepath.Join(tmp, unlockedName+"2")
	for _, dir := range []string{young, old} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	probe, probing := filepath.Join(tmp, sandbox.ProbeName+"1"), filepath.Join(tmp, sandbox.ProbeName+"2")
	for _, dir := range []string{probe, probing} {
		if err := os.MkdirAll(filepath.Join(dir, "work"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{old, probe} {
		if err := os.Chtimes(dir, now, now.Add(-2*settled)); err != nil {
			t.Fatal(err)
		}
	}
	if found := Leftovers(tmp); len(found) != 1 || found[0].Dir != left || found[0].Holder != "run r1" {
		t.Errorf("leftovers %+v", found)
	}
	removed, err := Sweep(tmp, nil, now)
	if err != nil || len(removed) != 1 || removed[0].Dir != left || removed[0].Holder != "run r1" {
		t.Errorf("removed %+v, %v", removed, err)
	}
	for dir, want := range map[string]bool{left: false, running: true, foreign: true, onPurpose: true, rescued: true, young: true, old: false, probe: false, probing: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: exists: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

// TestSweepNeverRemovesADirectoryThatIsCreated sweeps while runs start and end.
func TestSweepNeverRemovesADirectoryThatIsCreated(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var done atomic.Bool
	var sweeping, starting sync.WaitGroup
	for range 2 {
		sweeping.Go(func() {
			for !done.Load() {
				if removed, err := Sweep(os.TempDir(), nil, time.Now()); err != nil || len(removed) > 0 {
					t.Errorf("removed %+v, %v", removed, err)
					return
				}
			}
		})
	}
	for worker := range 4 {
		starting.Go(func() {
			for i := range 100 {
				d := &Dir{now: time.Now}
				if err := d.makeWork(fmt.Sprintf("r-%04d%04x", worker, i)); err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(filepath.Join(d.work, lockFile)); err != nil {
					t.Error(err)
				}
				if err := d.removeWork(); err != nil {
					t.Error(err)
				}
				d.working.Close()
			}
		})
	}
	starting.Wait()
	done.Store(true)
	sweeping.Wait()
}

// A directory that is discarded has no name in its place any more, and is gone when the run ends, with
// its write-protected directories.
func TestADiscardedDirectoryIsRemovedWhenTheRunEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := &Dir{now: time.Now}
	if err := d.makeWork("r-00000001"); err != nil {
		t.Fatal(err)
	}
	trees := filepath.Join(d.work, "trees")
	for _, name := range []string{"one", "two", "one"} { // the name can be used again
		tree := filepath.Join(trees, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(tree, "d", "e"), 0o755), os.Chmod(filepath.Join(tree, "d"), 0o500), d.Discard(tree)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(tree); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", tree, err)
		}
	}
	if err := d.Discard(filepath.Join(trees, "missing")); err == nil {
		t.Error("no error for a missing directory")
	}
	d.Leave(filepath.Join(trees, "left")) // of a run that leaves others
	if err := d.removeWork(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(d.work); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A worktree that can't be removed is reported, such as one with files of another user.
func TestCloseReportsWhatRemains(t *testing.T) {
	d := &Dir{work: t.TempDir() + "/."} // no user can remove a directory by such a name
	d.Close()
	if err := d.Remains(); err == nil || !strings.Contains(err.Error(), d.work) {
		t.Errorf("closed with error %v", err)
	}
}

// TestAResumedRunLeavesItsWorktrees: they have changes that are saved nowhere else.
func TestAResumedRunLeavesItsWorktrees(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first := &Dir{now: time.Now}
	if err := first.makeWork("r-00000001"); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(first.work, "trees", "job")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	first.Leave(tree)
	first.Close()
	second := &Dir{now: time.Now, resumed: true}
	if err := second.makeWork("r-00000001"); err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := os.Stat(tree); err != nil || second.work == first.work || !privateName.MatchString(filepath.Base(second.work)) {
		t.Errorf("%v; the resumed run uses %s", err, second.work)
	}
}

// TestSweepFindsDirectoriesByWorktrees finds those of another TMPDIR.
func TestSweepFindsDirectoriesByWorktrees(t *testing.T) {
	left := filepath.Join(t.TempDir(), "millhand-00000001")
	tree := filepath.Join(left, "trees", "job")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := TakeLock(t.Context(), left, "r1", at(time.Now))
	if err != nil {
		t.Fatal(err)
	}
	if IsGone(tree) {
		t.Error("gone before it was swept")
	}
	lock.Close()
	removed, err := Sweep(t.TempDir(), []string{"/nowhere/trees/x", filepath.Dir(tree), tree}, time.Now())
	if err != nil || len(removed) != 1 || !IsGone(tree) {
		t.Errorf("removed %+v, %v", removed, err)
	}
}

// TestSweepTrustsNoPointer: an agent can write the pointer of its worktree.
func TestSweepTrustsNoPointer(t *testing.T) {
	tmp := t.TempDir()
	left, git := filepath.Join(tmp, "millhand-00000001"), filepath.Join(tmp, "repo", ".git", "worktrees")
	for name, back := range map[string]string{"own": filepath.Join(left, "trees/own/.git"), "other": "/somewhere/else/.git"} {
		for _, dir := range []string{filepath.Join(left, "trees", name), filepath.Join(git, name)} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range map[string]string{filepath.Join(left, "trees", name, ".git"): "gitdir: " + filepath.Join(git, name), filepath.Join(git, name, "gitdir"): back} {
			if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	lock, err := TakeLock(t.Context(), left, "r1", at(time.Now))
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	if _, err := Sweep(tmp, nil, time.Now()); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(git)
	if err != nil || len(entries) != 1 || entries[0].Name() != "other" {
		t.Errorf("registered worktrees: %v, %v", entries, err)
	}
}

// TestSweepRemovesReadOnlyDirectories: module caches contain them, and only root could
// remove their files.
func TestSweepRemovesReadOnlyDirectories(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root removes files from read-only directories")
	}
	dir := t.TempDir()
	left := filepath.Join(dir, "millhand-0000000a")
	module := filepath.Join(left, "caches", "m@v1")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(module, "go.mod"), filepath.Join(left, lockFile)} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(module, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(dir, nil, time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("%s remains: %v", left, err)
	}
}
