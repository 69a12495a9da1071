package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func put(t *testing.T, d *Dir, name, text string) {
	t.Helper()
	err := d.WriteAtomic(name, func(out io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, file, want string) {
	t.Helper()
	if text, err := os.ReadFile(file); err != nil || string(text) != want {
		t.Errorf("%s: %q, %v; want %q", file, text, err, want)
	}
}

func TestWritesStayInTheDirectory(t *testing.T) {
	base := t.TempDir()
	at, victim := filepath.Join(base, "at"), filepath.Join(base, "victim")
	for _, dir := range []string{at, victim} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, at)
	if err := os.Symlink(victim, filepath.Join(at, "outputs")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Sub("outputs").CreateTemp("bash-*.txt"); err == nil {
		t.Error("an output was written through a symlink")
	}
	moved := filepath.Join(base, "moved")
	if err := errors.Join(os.Rename(at, moved), os.Symlink(victim, at)); err != nil {
		t.Fatal(err)
	}
	put(t, d, "report.json", "{}")
	holds(t, filepath.Join(moved, "report.json"), "{}")
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("the victim contains %v, %v", left, err)
	}
}

func TestSymlinksToDirectoriesAreNotFollowed(t *testing.T) {
	base := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(base, "real/runs"), 0o755), os.Symlink("real", filepath.Join(base, "own"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(base, "own/runs", false); err == nil {
		t.Error("created through a symlink")
	}
	if _, err := Enter(base, "own/runs"); err == nil {
		t.Error("entered through a symlink")
	}
	d, err := Make(base, "own/runs", true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if info, err := os.Lstat(filepath.Join(base, "own")); err != nil || !info.IsDir() {
		t.Errorf("the symlink was not replaced: %v, %v", info, err)
	}
}

func TestRemovedDirectoryIsRecreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	outputs := d.Sub("outputs")
	put(t, outputs, "one", "1")
	for range 2 {
		if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
			t.Fatal(err)
		}
		put(t, d, "report.json", "{}")
		put(t, outputs, "two", "2")
		holds(t, filepath.Join(dir, "report.json"), "{}")
		holds(t, filepath.Join(dir, "outputs/two"), "2")
	}
}

func TestFailedWriteKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	put(t, d, "deep/file", "old")
	if err := d.WriteAtomic("deep/file", func(out io.Writer) error {
		io.WriteString(out, "new")
		return io.ErrShortWrite
	}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
	holds(t, filepath.Join(dir, "deep/file"), "old")
	if left, err := os.ReadDir(filepath.Join(dir, "deep")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The other device is memory; without it only renaming is tried.
func TestMoveToReplacesExistingFiles(t *testing.T) {
	for name, dir := range map[string]func(testing.TB) string{"renamed": testing.TB.TempDir, "copied": gittest.OtherDevice} {
		t.Run(name, func(t *testing.T) {
			from := dir(t)
			a, b := open(t, from), open(t, t.TempDir())
			put(t, a, "events.jsonl", "events")
			put(t, a, "outputs/try/bash-1.txt", "output")
			put(t, b, "events.jsonl/planted", "x")
			put(t, b, "other", "stays")
			if err := a.MoveTo(b, []string{"events.jsonl", "outputs", "missing"}); err != nil {
				t.Fatal(err)
			}
			holds(t, filepath.Join(b.Path(), "events.jsonl"), "events")
			holds(t, filepath.Join(b.Path(), "outputs/try/bash-1.txt"), "output")
			holds(t, filepath.Join(b.Path(), "other"), "stays")
			if left, err := os.ReadDir(from); err != nil || len(left) > 0 {
				t.Errorf("not moved: %v, %v", left, err)
			}
		})
	}
}

// A process that is killed while it copies leaves no incomplete directory by its name: the next one would replace the
// complete one with it.
func TestDirectoriesAreCopiedCompletely(t *testing.T) {
	const files = 100
	from, to := t.TempDir(), gittest.OtherDevice(t)
	a, b := open(t, from), open(t, to)
	for i := range files {
		put(t, a, fmt.Sprintf("sessions/%d.jsonl", i), "x")
	}
	moved := make(chan error, 1)
	go func() { moved <- a.MoveTo(b, []string{"sessions"}) }()
	for done := false; !done; {
		select {
		case err := <-moved:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		entries, err := os.ReadDir(filepath.Join(to, "sessions"))
		if (err != nil || len(entries) != files) && (done || !errors.Is(err, fs.ErrNotExist)) {
			if t.Errorf("%d files (%v) of %d", len(entries), err, files); !done {
				<-moved
			}
			return
		}
	}
}

func TestTemporaryFilesAreRemoved(t *testing.T) {
	d := open(t, t.TempDir())
	for _, name := range []string{".report.json.12", ".sessions.0/j.jsonl", ".sessions.x", ".other.1", "report.json"} {
		put(t, d, name, "x")
	}
	d.RemoveTemporary([]string{"report.json", "sessions"})
	var left []string
	entries, err := os.ReadDir(d.Path())
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".other.1", ".sessions.x", "report.json"}; !slices.Equal(left, want) || err != nil {
		t.Errorf("left are %q (%v), want %q", left, err, want)
	}
}

func TestOwn(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for mode, want := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o775: false, 0o777: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if got := d.Own(); got != want {
			t.Errorf("mode %o: %t, want %t", mode, got, want)
		}
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 1234, 1234)); err != nil {
			t.Fatal(err)
		}
		if d.Own() {
			t.Error("another user's directory is own")
		}
	}
}
