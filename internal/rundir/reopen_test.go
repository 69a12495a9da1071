package rundir

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/sandbox"
)

// A run that was killed while its reports were in its private directory is reopened with all of them,
// and without the temporary files of those that it was writing.
func TestReopenAfterAKill(t *testing.T) {
	tree := t.TempDir()
	for name, trees := range map[string][]string{"own": nil, "private": {tree}} { // of jobs without a worktree
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			dir := filepath.Join(tree, name)
			d, err := Claim(t.Context(), "", dir, "r-00000001", at(noon))
			if err != nil {
				t.Fatal(err)
			}
			foreign := filepath.Join(dir, ".report.json.swp") // of an editor
			if err := os.WriteFile(foreign, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			d.KeepManifest([]byte("version: 1\n"))
			if err := d.Begin("r-00000001", sandbox.Full, trees, 1); err != nil {
				t.Fatal(err)
			}
			for name := range Formats(nil) {
				if _, err := d.dir.BeginAtomic(name, func(w io.Writer) error { _, err := io.WriteString(w, "incomplete"); return err }); err != nil {
					t.Fatal(err)
				}
			}
			d.lock.file.Close() // as the kernel does
			d.working.file.Close()
			again, err := Reopen(t.Context(), dir, at(noon))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { again.Close() }()
			if text, err := again.Manifest(); err != nil || !strings.HasSuffix(string(text), "version: 1\n") {
				t.Errorf("manifest %q, %v", text, err)
			}
			if names, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || !slices.Equal(names, []string{foreign}) {
				t.Errorf("hidden files %v, %v", names, err)
			}
			if err := again.Begin("r-00000001", sandbox.Full, trees, 1); err != nil {
				t.Fatal(err)
			}
			if text, err := again.Manifest(); err != nil || !strings.HasSuffix(string(text), "version: 1\n") {
				t.Errorf("manifest when it runs again: %q, %v", text, err)
			}
			again.lock.file.Close()
			again.working.file.Close()
			if again, err = Reopen(t.Context(), dir, at(noon)); err != nil {
				t.Fatal(err)
			}
			if !IsRun(dir) {
				t.Error("the reports are lost after another kill")
			}
		})
	}
}

// withFixedSessions begins a run with its reports in its private directory, where those of sessions can't be moved
// from. It returns the report directory, too.
func withFixedSessions(t *testing.T) (d *Dir, dir string) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root can move write-protected directories")
	}
	t.Setenv("TMPDIR", t.TempDir())
	tree := t.TempDir()
	dir = filepath.Join(tree, "out")
	d, err := Claim(t.Context(), "", dir, "r-00000001", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Begin("r-00000001", sandbox.Full, []string{tree}, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.dir.Path(), "sessions"), 0o500); err != nil {
		t.Fatal(err)
	}
	return d, dir
}

// If some of the reports of a killed run can't be moved, the next attempt moves them.
func TestReopenMovesWhatAFailedOneDidNot(t *testing.T) {
	d, dir := withFixedSessions(t)
	sessions := filepath.Join(d.dir.Path(), "sessions")
	d.lock.file.Close() // as the kernel does
	d.working.file.Close()
	if _, err := Reopen(t.Context(), dir, at(noon)); err == nil {
		t.Fatal("no error")
	}
	if err := os.Chmod(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(t.Context(), dir, at(noon))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := os.Lstat(filepath.Join(dir, "sessions")); err != nil {
		t.Error(err)
	}
}

// A run whose reports can't all be moved to their directory at its end, or that is killed while it moves them, has its
// events where the others are.
func TestEventsAreMovedLast(t *testing.T) {
	d, dir := withFixedSessions(t)
	defer d.Close()
	if err := d.land(); err == nil || IsRun(dir) || !IsRun(d.path) {
		t.Errorf("error %v; a run in %s: %v, in %s: %v", err, dir, IsRun(dir), d.path, IsRun(d.path))
	}
}
