package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/text/redact"
)

// checkpointsOf returns checkpoints of a repository that are stored outside of it.
func checkpointsOf(t *testing.T, r *Reader) Checkpoints {
	t.Helper()
	store := filepath.Join(t.TempDir(), "objects")
	must(t, os.Mkdir(store, 0o755))
	return Checkpoints{Reader: r, Store: store, Redact: redact.New([]string{"hunter2-hunter2"})}
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

func TestCheckpointsRestoreEveryFileExceptSecretsAndIgnoredOnes(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.o\n", "a", "1\n", "dir/b", "1\n", "dir/c", "1\n", "file", "1\n", "gone", "1\n")
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	c := checkpointsOf(t, r)
	unchanged, err := c.Save(t.Context(), from, base)
	must(t, err)
	if want := strings.TrimSpace(s.Run("rev-parse", base+"^{tree}")); unchanged.Tree != want {
		t.Errorf("the tree of an unchanged working tree is %s, want %s", unchanged.Tree, want)
	}

	s.Write("a", "2\n", "new/x", "1\n", "ignored.o", "1\n", "run.sh", "exit\n", "secret", "hunter2-hunter2\n", "bytes", "\x00\xff")
	must(t, os.Chmod(filepath.Join(s.Root, "run.sh"), 0o755))
	must(t, os.Symlink("a", filepath.Join(s.Root, "alias")))
	s.Remove("gone", "dir", "file")
	s.Write("dir", "a file\n", "file/inside", "1\n")
	want := contents(t, s)
	delete(want, "secret")
	saved, err := c.Save(t.Context(), from, base)
	must(t, err)
	tree := saved.Tree
	if again, err := c.Save(t.Context(), from, base); err != nil || again.Tree != tree {
		t.Errorf("saved again: %s, %v; want %s", again.Tree, err, tree)
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
	state, changed, err := c.Snapshot(tree, base)
	must(t, err)
	if !slices.Contains(changed, "gone") || slices.Contains(changed, ".gitignore") {
		t.Errorf("changed: %v", changed)
	}
	s.Write("a", "4\n")
	cs, err := r.Changes(t.Context(), state)
	must(t, err)
	if diff := cmp.Diff([]string{"a"}, paths(cs)); diff != "" || cs.Changes[0].Added != 1 || cs.Changes[0].Removed != 1 {
		t.Errorf("%+v %s", cs.Changes, diff)
	}
}

// A state that is saved by the files that were written is the one that a search would save.
func TestCheckpointsOfFiles(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.o\n", ".gitattributes", "*.txt text=auto\n*.id ident\n", "a", "1\n", "dir/b", "1\n", "dir/c", "1\n", "e.txt", "1\n", "f.id", "$Id$\n")
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	c := checkpointsOf(t, r)
	last, err := c.Save(t.Context(), from, base)
	must(t, err)
	for _, step := range []struct {
		write    []string
		searched bool // a file that nobody names is found, too
	}{
		{write: []string{"a", "2\n"}},
		{write: []string{"dir/b", "2\n", "dir/c", "3\n", "e.txt", "1\r\n2\r\n"}},
		{write: []string{"a", "1\n"}},               // as it was
		{write: []string{"a", "hunter2-hunter2\n"}}, // a secret
		{write: []string{"a", "4\n"}},
		{write: []string{"new", "1\n"}, searched: true},
		{write: []string{"new", "2\n"}, searched: true}, // nothing of git knows it
		{write: []string{"ignored.o", "1\n"}, searched: true},
		{write: []string{".gitignore", "*.p\n"}, searched: true},
		{write: []string{"f.id", "$Id$ 2\n"}, searched: true},
	} {
		s.Write(step.write...)
		s.Write("beside", strings.Join(step.write, ""))
		var files []string
		for i := 0; i < len(step.write); i += 2 {
			files = append(files, filepath.Join(r.Git.Root, step.write[i]))
		}
		last, err = c.SaveFiles(t.Context(), from, base, last, files)
		must(t, err)
		if _, saved, err := c.read(last.Tree); err != nil || (saved.ByPath()["beside"].Mode != 0) != step.searched {
			t.Errorf("after %q: %v, want searched %v", step.write, err, step.searched)
		}
		s.Remove("beside")
		if step.searched {
			last, err = c.SaveFiles(t.Context(), from, base, last, []string{filepath.Join(r.Git.Root, "beside")})
			must(t, err)
		}
		want, err := c.Save(t.Context(), from, base)
		must(t, err)
		if want.Tree != last.Tree {
			t.Errorf("after %q: %s, want %s", step.write, last.Tree, want.Tree)
		}
		sameChanges(t, c, from, last)
	}
	s.Remove("a")
	must(t, os.Symlink("/etc/passwd", filepath.Join(s.Root, "a")))
	if last, err = c.SaveFiles(t.Context(), from, base, last, []string{filepath.Join(r.Git.Root, "a")}); err != nil {
		t.Fatal(err)
	}
	if want, err := c.Save(t.Context(), from, base); err != nil || want.Tree != last.Tree {
		t.Errorf("a symlink: %s, %v; want %s", last.Tree, err, want.Tree)
	}
}

// sameChanges checks that the changes of a saved state are those that a search finds.
func sameChanges(t *testing.T, c Checkpoints, from *Snapshot, saved Saved) {
	t.Helper()
	got, err := c.Changes(t.Context(), saved)
	must(t, err)
	want, err := c.Reader.Changes(t.Context(), from)
	must(t, err)
	if got == nil || !maps.Equal(want.edits, got.edits) {
		t.Fatalf("changes %+v, want %+v", got, want)
	}
	if diff := cmp.Diff(want.Changes, got.Changes) + cmp.Diff(want.Refused, got.Refused); diff != "" {
		t.Error(diff)
	}
}

// The changes of a saved state are not known if they have not been searched for, or if a path was
// refused and others were saved later.
// The name of an entry of an index refers to the bytes of the index file.
func TestSavedStatesDoNotReferToIndexes(t *testing.T) {
	const size, states = 1 << 18, 16
	s := gittest.NewSandbox(t)
	dir := strings.Repeat("d", 200) + "/"
	for i := range size / 400 {
		s.Write(fmt.Sprintf("%s%0150d", dir, i), "1\n")
	}
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	index := filepath.Join(s.Root, ".git", "index")
	if info, err := os.Stat(index); err != nil || info.Size() < size {
		t.Fatalf("index: %+v, %v; want one of %d bytes", info, err, size)
	}
	c := checkpointsOf(t, r)
	var all []Saved
	used := func() (bytes int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := used()
	for i := range states {
		s.Write(fmt.Sprintf("%s%0150d", dir, i), "2\n")
		must(t, os.Chtimes(index, time.Time{}, time.Unix(int64(i), 0))) // so that it is read again
		saved, err := c.Save(t.Context(), from, base)
		must(t, err)
		all = append(all, saved)
	}
	if more := used() - before; more > states*size/4 {
		t.Errorf("%d saved states use %d bytes, of an index of %d", states, more, size)
	}
	runtime.KeepAlive(all)
}

func TestChangesOfCheckpoints(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", "b", "1\n")
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	c := checkpointsOf(t, r)
	b := []string{filepath.Join(r.Git.Root, "b")}
	s.Write("b", "2\n")
	root, err := r.RootTree(base)
	must(t, err)
	written, err := c.SaveFiles(t.Context(), from, base, Saved{Tree: root}, b)
	must(t, err)
	if cs, err := c.Changes(t.Context(), written); err != nil || cs != nil {
		t.Errorf("never searched: %+v, %v", cs, err)
	}
	must(t, os.Symlink("a", filepath.Join(s.Root, ".gitmodules")))
	s.Remove("a")
	s.Write("new", "x\n")
	refused, err := c.Save(t.Context(), from, base)
	must(t, err)
	sameChanges(t, c, from, refused)
	s.Write("b", "3\n")
	written, err = c.SaveFiles(t.Context(), from, base, refused, b)
	must(t, err)
	if cs, err := c.Changes(t.Context(), written); err != nil || cs != nil {
		t.Errorf("after a refusal: %+v, %v", cs, err)
	}
	must(t, os.Remove(filepath.Join(s.Root, ".gitmodules")))
	all, err := c.Save(t.Context(), from, base)
	must(t, err)
	s.Write("b", "4\n")
	if _, err := c.Changes(t.Context(), all); !errors.Is(err, gitdir.ErrConflict) {
		t.Errorf("a file that was modified since: %v", err)
	}
}
