package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestChangedPathsAreThoseOfTheChanges(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", ".github/workflows/ci.yml", "1\n", "dir/x", "1\n", "Makefile", "1\n", ".gitignore", "*.o\n", "mine/x", "1\n")
	base := s.Commit()
	s.Write("a", "2\n", "new/x", "1\n", "x.o", "1\n", ".millhand/x", "1\n")
	s.Remove("dir", "Makefile", ".github")
	s.Write("dir", "instead of a directory\n", "Makefile/x", "1\n")
	s.Symlink("mine", ".github")
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	got, _, err := r.ChangedPaths(t.Context(), from)
	must(t, err)
	want := []string{".github", ".github/workflows/ci.yml", "Makefile", "Makefile/x", "a", "dir", "dir/x", "new/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed paths (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, paths(measure(t, r, base))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	got, _, err = r.ChangedPaths(t.Context(), from.Below("dir"))
	if must(t, err); !cmp.Equal(got, []string{"dir/x"}) {
		t.Errorf("below a directory: %v", got)
	}
}

// An agent can add files to the index with other attributes and filters than those that hold at the end:
// the changes are those that a commit makes then.
func TestAddedFilesAreConvertedAsAtTheEnd(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("changed", "1\n", "same", "1\n", "mode", "1\r\n")
	base := s.Commit()
	in, r := worktree(t, s, opened(s), base)
	from, err := r.SnapshotOf(base)
	must(t, err)
	in.Write("changed", "2\r\n", "same", "1\r\n", "new", "1\r\n")
	must(t, os.Chmod(filepath.Join(in.Root, "mode"), 0o755))
	in.Run("add", "-A")
	later := time.Now().Add(time.Minute) // the files are not as new as the index, which would be reason enough to read them
	must(t, os.Chtimes(in.Run("rev-parse", "--path-format=absolute", "--git-path", "index"), later, later))
	in.Write(".gitattributes", "* text\n")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	if diff := cmp.Diff([]string{".gitattributes", "changed", "mode", "new"}, paths(cs)); diff != "" {
		t.Error(diff)
	}
	c := checkpointsOf(t, r)
	saved, err := c.Save(t.Context(), from, base)
	must(t, err)
	sameChanges(t, c, from, saved)
	o := options(base)
	o.Branch, o.MustNotExist = "millhand/x", true
	done, err := r.Commit(t.Context(), cs, o)
	must(t, err)
	if text := s.Run("show", done.Hash+":changed"); text != "2" || done.Tree != saved.Tree {
		t.Errorf("committed %q, and %s; saved %s", text, done.Tree, saved.Tree)
	}
}

// Files that are refused for their size are not read, which would take as long after each turn.
func TestAddedFilesThatAreTooLargeAreNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Run("config", "core.trustctime", "false")
	large := filepath.Join(s.Root, "large")
	must(t, os.WriteFile(large, nil, 0o600))
	must(t, os.Truncate(large, maxFileSize+1))
	then := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(large, then, then))
	s.Run("add", "large")
	f, err := os.OpenFile(large, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("x"), 0)
	must(t, errors.Join(err, f.Close()))
	must(t, os.Chtimes(large, then, then)) // so that only reading it shows the change
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	tree, err := r.openWorkTree(false)
	must(t, err)
	defer tree.Close()
	w := r.walkFrom(tree, from)
	w.largest = maxFileSize
	must(t, w.runAll(t.Context()))
	edits, err := w.readEdits(t.Context(), from)
	must(t, err)
	if got, want := edits["large"].after.Hash.String(), s.Run("rev-parse", ":large"); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

// Programs can make paths that system calls don't accept, by relative names.
func TestPathsThatAreTooLongAreRefused(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("plain", "1\n")
	base := s.Commit()
	s.Write("plain", "2\n")
	root, err := os.OpenRoot(s.Root)
	must(t, err)
	defer root.Close()
	must(t, root.MkdirAll("deep"+strings.Repeat("/"+strings.Repeat("d", 200), 30), 0o755))
	cs := measure(t, opened(s), base)
	if len(cs.Refused) != 1 || !strings.HasPrefix(cs.Refused[0].Path, "deep/ddd") || cs.Refused[0].Reason != "path is too long" || !slices.Equal(paths(cs), []string{"plain"}) {
		t.Errorf("refused %v, changed %v", cs.Refused, paths(cs))
	}
}

func TestFilteredFilesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, test := range []struct {
		name string
		job  func(*gittest.Sandbox)
		path string // "" if it is fine
	}{
		{"a changed file of Git LFS", func(s *gittest.Sandbox) { s.Write("a.psd", "raw\n") }, "a.psd"},
		{"a new file of Git LFS", func(s *gittest.Sandbox) { s.Write("deep/n.psd", "raw\n") }, "deep/n.psd"},
		{"a file of Git LFS that is deleted", func(s *gittest.Sandbox) { s.Remove("a.psd") }, ""},
		{"a link by the name of one of Git LFS", func(s *gittest.Sandbox) { s.Symlink("x", "l.psd") }, ""},
		{"a file that is exempt from the filter", func(s *gittest.Sandbox) { s.Write("free/a.psd", "raw\n") }, ""},
		{"a filter that is not configured", func(s *gittest.Sandbox) { s.Write(".gitattributes", "plain filter=x\n", "plain", "2\n") }, ""},
		{"a filter of the repository's configuration", func(s *gittest.Sandbox) {
			s.Run("config", "filter.x.clean", "sed s/2/3/")
			s.Write(".gitattributes", "plain filter=x\n", "plain", "2\n")
		}, "plain"},
		{"another encoding", func(s *gittest.Sandbox) { s.Write("u.utf16", "x\x00") }, "u.utf16"},
		{"a nested repository", func(s *gittest.Sandbox) { nestedRepository(s, "vendor/lib") }, "vendor/lib"},
		{"a nested repository without a commit", func(s *gittest.Sandbox) { s.Run("init", "-q", "nested"); s.Write("nested/f", "f") }, "nested"},
		{"a nested repository that is ignored", func(s *gittest.Sandbox) { nestedRepository(s, "ignored/lib") }, ""},
		{"a name that git refuses", func(s *gittest.Sandbox) { s.Write("dir/git~1", "x") }, "dir/git~1"},
		{"a directory whose name git refuses", func(s *gittest.Sandbox) { s.Write(".git /x", "x") }, ".git "},
		{"a name that git refuses and that is ignored", func(s *gittest.Sandbox) { s.Write("ignored/git~1", "x") }, ""},
		{"an empty directory whose name git refuses", func(s *gittest.Sandbox) { must(s.T, os.Mkdir(filepath.Join(s.Root, "GIT~1"), 0o755)) }, ""},
		{"a nested worktree", func(s *gittest.Sandbox) { s.Run("worktree", "add", "-q", "--detach", "wt") }, "wt"},
		{"a nested repository around tracked files", func(s *gittest.Sandbox) { s.Run("init", "-q", "dir"); s.Write("dir/n", "n") }, ""},
		{"a new submodule", func(s *gittest.Sandbox) {
			nestedRepository(s, "sub")
			s.Run("-c", "advice.addEmbeddedRepo=false", "add", "sub")
		}, "sub"},
		{"a file that is too large", func(s *gittest.Sandbox) {
			s.Write("large", "x")
			must(s.T, os.Truncate(filepath.Join(s.Root, "large"), maxFileSize+1))
		}, "large"},
		{"a tracked file that became too large to be read", func(s *gittest.Sandbox) {
			must(s.T, os.Truncate(filepath.Join(s.Root, "dir", "f"), 1<<40))
		}, "dir/f"},
		{"a link named .gitmodules", func(s *gittest.Sandbox) { s.Symlink("x", ".gitmodules") }, ".gitmodules"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\nfree/* -filter\n*.utf16 working-tree-encoding=UTF-16\n",
				".gitignore", "ignored/\n", "a.psd", "pointer\n", "plain", "1\n", "dir/f", "f\n")
			base := s.Commit()
			s.Write("plain", "changed\n")
			test.job(s)
			r := opened(s)
			cs := measure(t, r, base)
			from, err := r.SnapshotOf(base)
			must(t, err)
			if _, refused, err := r.ChangedPaths(t.Context(), from); err != nil || !slices.Equal(refused, cs.Refused) {
				t.Errorf("refused without reading: %v, %v, want %v", refused, err, cs.Refused)
			}
			_, patchErr := r.Patch(t.Context(), cs)
			must(t, patchErr)
			_, err = r.Commit(t.Context(), cs, options(base))
			if test.path == "" {
				must(t, err)
				s.Fsck()
				return
			}
			var unsupported *gitdir.UnsupportedError
			if !errors.As(err, &unsupported) || !slices.Equal(unsupported.Paths, []string{test.path}) {
				t.Errorf("got %v, want an UnsupportedError about %s", err, test.path)
			}
			if !slices.Contains(paths(cs), "plain") && test.path != "plain" {
				t.Errorf("the other change is lost: %v", paths(cs))
			}
			if s.Run("rev-parse", "HEAD") != base {
				t.Error("HEAD moved")
			}
		})
	}
}

func TestExistingNestedRepositoriesAreNoChange(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	nestedRepository(s, "vendor/lib")
	r := opened(s)
	from, err := r.Snapshot(t.Context())
	must(t, err)
	s.Write("a", "b\n")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	_, err = r.Commit(t.Context(), cs, options(base))
	must(t, err)
}

func TestUnsupportedErrorNamesAFewPaths(t *testing.T) {
	err := &gitdir.UnsupportedError{Reason: "no", Paths: []string{"a", "b\n", "c", "d", "e", "f"}}
	if got, want := err.Error(), `no: a, "b\n", c, d, e, ...`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNothingOutsideOfTheWorkTreeIsRead(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("d/f", "inside\n")
	base := s.Commit()
	s.At(s.Home).Write("d/f", "secret\n", "rules", "*\n")
	r := opened(s)
	tree, err := r.openWorkTree(false)
	must(t, err)
	defer tree.Close()
	s.Remove("d")
	s.Symlink(filepath.Join(s.Home, "d"), "d")
	if c, err := tree.Read("d/f", 0o100644, plumbing.ZeroHash); err == nil {
		t.Errorf("read %q through a link", c.Data)
	}
	s.Symlink(filepath.Join(s.Home, "rules"), ".gitignore")
	if got := paths(measure(t, r, base)); !slices.Equal(got, []string{".gitignore", "d", "d/f"}) {
		t.Errorf("changes: %v", got)
	}
}

func TestWalksStopWhenTheContextEnds(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n")
	base := s.Commit()
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, changesErr := r.Changes(ctx, from)
	_, dirtyErr := r.Dirty(ctx)
	_, snapshotErr := r.Snapshot(ctx)
	_, worktreeErr := r.AddWorktree(ctx, filepath.Join(s.Home, "wt"), base)
	_, copyErr := CopyDirectory(ctx, s.Root, filepath.Join(s.Home, "copy"), envOf(s))
	for i, err := range []error{changesErr, dirtyErr, snapshotErr, worktreeErr, copyErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if list := s.Run("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("a worktree remains:\n%s", list)
	}
}

func TestPatchOfADirtyStartAppliesOnTheDirtyStart(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "one\ntwo\n")
	s.Commit()
	huge := strings.Repeat("x\n", maxKeptSize)
	s.Write("a", "one\ntwo\nuser\n", "untracked", "u\n", "huge", huge, "gone", binaryText, "to-link", "x")
	r := opened(s)
	from, err := r.Snapshot(t.Context())
	must(t, err)
	before := filepath.Join(s.Home, "before")
	must(t, os.CopyFS(before, os.DirFS(s.Root)))
	s.Write("a", "one\n2\nuser\n", "untracked", "u\nv\n", "huge", huge+"y\n")
	s.Remove("gone", "to-link")
	s.Symlink("y", "to-link")
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	patch, err := r.Patch(t.Context(), cs)
	must(t, err)
	name := filepath.Join(s.Home, "patch")
	must(t, os.WriteFile(name, patch, 0o644))
	s.At(before).Run("apply", name)
	for _, path := range []string{"a", "untracked", "huge"} {
		want, err := os.ReadFile(filepath.Join(s.Root, path))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(before, path)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %d bytes, want %d", path, err, len(got), len(want))
		}
	}
	if target, err := os.Readlink(filepath.Join(before, "to-link")); err != nil || target != "y" {
		t.Errorf("to-link: %q, %v", target, err)
	}
}

func TestChangesBelowADirectory(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write(".gitignore", "*.log\n", "a", "1\n", "x/a", "1\n", "x/y/a", "1\n", "x/y/gone", "1\n", "x/yz/a", "1\n", "x/y/z/.gitignore", "*.tmp\n")
	base := s.Commit()
	s.Write("a", "2\n", "new", "1\n", "x/a", "2\n", "x/y/a", "2\n", "x/y/z/new", "1\n", "x/y/z/no.tmp", "1\n", "x/y/no.log", "1\n", "x/yz/a", "2\n", "x/yz/new", "1\n")
	s.Remove("x/y/gone", "x/yz/a")
	r := opened(s)
	from, err := r.SnapshotOf(base)
	must(t, err)
	cs, err := r.Changes(t.Context(), from.Below("x/y"))
	must(t, err)
	if diff := cmp.Diff([]string{"x/y/a", "x/y/gone", "x/y/z/new"}, paths(cs)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	if changed := s.Run("diff-tree", "-r", "--name-status", base, got.Hash); changed != "M\tx/y/a\nD\tx/y/gone\nA\tx/y/z/new" {
		t.Errorf("committed:\n%s", changed)
	}
	s.Fsck()
}

func TestTooLargeNewFileIsNotRead(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n")
	base := s.Commit()
	s.Write("huge", "")
	if err := os.Truncate(filepath.Join(s.Root, "huge"), 1<<43); err != nil { // reading it would take hours
		t.Fatal(err)
	}
	cs := measure(t, opened(s), base)
	if want := []Refusal{{"huge", tooLarge}}; len(cs.Changes) > 0 || !slices.Equal(cs.Refused, want) {
		t.Errorf("changes %v, refused %v; want none and %v", cs.Changes, cs.Refused, want)
	}
}

func TestADirectoryThatBecameALoopIsDeleted(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a/b", "b\n", "c", "c\n")
	base := s.Commit()
	s.Write(".gitignore", "*\n")
	must(t, os.RemoveAll(filepath.Join(s.Root, "a")))
	s.Symlink("a", "a")
	got, err := opened(s).Commit(t.Context(), measure(t, opened(s), base), options(base))
	must(t, err)
	if names := s.Run("ls-tree", "-r", "--name-only", got.Tree); names != "c" {
		t.Errorf("the commit has %q, want c only", names)
	}
}
