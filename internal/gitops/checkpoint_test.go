package gitops

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gittest"
)

// checkpointsOf returns checkpoints of a repository that are stored outside of it.
func checkpointsOf(t *testing.T, r *Repo) Checkpoints {
	t.Helper()
	store := filepath.Join(t.TempDir(), "objects")
	must(t, os.Mkdir(store, 0o755))
	return Checkpoints{Repo: r, Store: store, Secret: func(content []byte) bool { return bytes.Contains(content, []byte("hunter2")) }}
}

// contents returns the files of a working tree that git does not ignore, with a mark for
// executable files and symlinks.
func contents(t *testing.T, s *gittest.Sandbox) map[string]string {
	t.Helper()
	files := map[string]string{}
	for path := range strings.Lines(s.Run("ls-files", "-co", "--exclude-standard")) {
		path = strings.TrimSpace(path)
		at := filepath.Join(s.Root, path)
		info, err := os.Lstat(at)
		if err != nil || info.IsDir() {
			continue // deleted, or replaced by a directory
		}
		if info.Mode()&os.ModeSymlink != 0 {
			to, err := os.Readlink(at)
			must(t, err)
			files[path] = "-> " + to
			continue
		}
		data, err := os.ReadFile(at)
		must(t, err)
		files[path] = string(data)
		if info.Mode()&0o100 != 0 {
			files[path] += "x"
		}
	}
	return files
}

func TestCheckpoints(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.o\n", "a", "1\n", "dir/b", "1\n", "dir/c", "1\n", "file", "1\n", "gone", "1\n")
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	c := checkpointsOf(t, r)
	unchanged, err := c.Save(t.Context(), from, base)
	must(t, err)
	if want := strings.TrimSpace(s.Run("rev-parse", base+"^{tree}")); unchanged != want {
		t.Errorf("the tree of an unchanged working tree is %s, want %s", unchanged, want)
	}

	s.Write("a", "2\n", "new/x", "1\n", "ignored.o", "1\n", "run.sh", "exit\n", "secret", "hunter2\n", "bytes", "\x00\xff")
	must(t, os.Chmod(filepath.Join(s.Root, "run.sh"), 0o755))
	must(t, os.Symlink("a", filepath.Join(s.Root, "alias")))
	s.Remove("gone", "dir", "file")
	s.Write("dir", "a file\n", "file/inside", "1\n")
	want := contents(t, s)
	delete(want, "secret")
	tree, err := c.Save(t.Context(), from, base)
	must(t, err)
	if again, err := c.Save(t.Context(), from, base); err != nil || again != tree {
		t.Errorf("saved again: %s, %v; want %s", again, err, tree)
	}
	if !c.Has(tree) || c.Has(strings.Repeat("1", 40)) {
		t.Errorf("%s is missing, or another one is not", tree)
	}

	s.Write("a", "3\n", "later", "1\n", "file/inside", "2\n", "ignored.o", "2\n", "dir", "changed\n")
	s.Remove("new", "alias")
	replaced, err := c.Replaced(t.Context(), tree, "")
	must(t, err)
	if diff := cmp.Diff([]string{"a", "alias", "dir", "file/inside", "later", "new/x", "secret"}, replaced); diff != "" {
		t.Error(diff)
	}
	must(t, c.Restore(t.Context(), tree, ""))
	if diff := cmp.Diff(want, contents(t, s)); diff != "" {
		t.Error(diff)
	}
	if data, _ := os.ReadFile(filepath.Join(s.Root, "ignored.o")); string(data) != "2\n" {
		t.Errorf("an ignored file was restored: %q", data)
	}
	if out := s.Run("fsck", "--strict"); strings.Contains(out, "error") {
		t.Error(out)
	}
	saved, changed, err := c.Snapshot(tree, base)
	must(t, err)
	if !slices.Contains(changed, "gone") || slices.Contains(changed, ".gitignore") {
		t.Errorf("changed: %v", changed)
	}
	s.Write("a", "4\n")
	cs, err := r.Changes(t.Context(), saved)
	must(t, err)
	if diff := cmp.Diff([]string{"a"}, paths(cs)); diff != "" || cs.Changes[0].Added != 1 || cs.Changes[0].Removed != 1 {
		t.Errorf("%+v %s", cs.Changes, diff)
	}
}
