package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestRestoreUndoesWhatCommandsDid(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.o\n/out/\n", "a", "1\n", "run.sh", "exit\n", "dir/b", "1\n", "dir/c", "1\n", "file", "1\n")
	must(t, os.Chmod(filepath.Join(s.Root, "run.sh"), 0o755))
	must(t, os.Symlink("a", filepath.Join(s.Root, "alias")))
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	s.Write("setup.txt", "by setup\n", "changed.o", "1\n", "gone.o", "1\n", "a", "by setup\n") // after the commit
	before, err := r.FullState(t.Context(), nil)
	must(t, err)
	after, err := r.Changes(t.Context(), from)
	must(t, err)

	s.Write("a", "2\n", "new", "1\n", "new.o", "1\n", "out/deep/x", "1\n", "changed.o", "2\n", "setup.txt", "2\n", ".gitignore", "")
	s.Remove("dir", "alias", "run.sh", "file", "gone.o")
	s.Write("file/inside", "1\n", "alias", "no symlink\n", "dir", "a file\n")
	must(t, os.Mkdir(filepath.Join(s.Root, "empty"), 0o500))
	must(t, r.Restore(t.Context(), before))

	got, err := r.Changes(t.Context(), from)
	must(t, err)
	if len(got.Changes) != len(after.Changes) || len(got.Changes) != 2 {
		t.Errorf("changes %+v, want %+v", got.Changes, after.Changes)
	}
	for path, want := range map[string]string{"a": "by setup\n", "setup.txt": "by setup\n", "dir/b": "1\n", "file": "1\n", "changed.o": "2\n"} {
		if data, err := os.ReadFile(filepath.Join(s.Root, path)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	for _, path := range []string{"new", "new.o", "out", "empty", "gone.o"} {
		if _, err := os.Lstat(filepath.Join(s.Root, path)); !os.IsNotExist(err) {
			t.Errorf("%s exists: %v", path, err)
		}
	}
	if info, err := os.Stat(filepath.Join(s.Root, "run.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("run.sh: %v", err)
	}
	if to, err := os.Readlink(filepath.Join(s.Root, "alias")); to != "a" {
		t.Errorf("alias: %q, %v", to, err)
	}
}
