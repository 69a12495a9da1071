package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

func TestProtectedPathsAreLeftOut(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "1\n", ".github/workflows/ci.yml", "1\n", "dir/secret", "1\n", "dir/x", "1\n", "Makefile", "1\n")
	base := s.commit()
	s.write("a", "2\n", ".github/workflows/ci.yml", "2\n", ".github/workflows/new.yml", "1\n", "deep/x.lock", "1\n", "docs/d/e", "1\n")
	s.remove("dir", "Makefile")
	s.write("dir", "a file that would take dir/secret away\n", "Makefile/x", "1\n")
	r := s.open()
	cs := measure(t, r, base, ".github/**", "**/*.lock", "dir/secret", "Makefile", "docs/")
	if diff := cmp.Diff([]string{"a", "dir/x"}, paths(cs)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	want := []string{
		".github/workflows/ci.yml", ".github/workflows/new.yml", "Makefile", "Makefile/x",
		"deep/x.lock", "dir", "dir/secret", "docs/d/e",
	}
	if diff := cmp.Diff(want, cs.Protected); diff != "" {
		t.Errorf("protected (-want +got):\n%s", diff)
	}
	got, err := r.Commit(t.Context(), cs, options(base))
	must(t, err)
	if changed := s.run("diff-tree", "-r", "--name-status", base, got.Hash); changed != "M\ta\nD\tdir/x" {
		t.Errorf("committed:\n%s", changed)
	}
	s.fsck()

	from, err := r.SnapshotOf(base)
	must(t, err)
	if _, err := r.Changes(t.Context(), from, []string{"[z"}); err == nil {
		t.Error("a bad glob is accepted")
	}
}

func TestAProtectedDirectoryCanNotBecomeALink(t *testing.T) {
	s := newSandbox(t)
	s.write(".github/workflows/ci.yml", "1\n", "mine/workflows/ci.yml", "evil\n")
	base := s.commit()
	s.remove(".github")
	s.link("mine", ".github")
	if cs := measure(t, s.open(), base, ".github/**"); len(cs.Changes) > 0 {
		t.Errorf("changes: %+v", cs.Changes)
	}
}

func TestWhatGitWouldStoreOtherwiseIsRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		job  func(*sandbox)
		path string // "" if it is fine
	}{
		{"a changed file of Git LFS", func(s *sandbox) { s.write("a.psd", "raw\n") }, "a.psd"},
		{"a new file of Git LFS", func(s *sandbox) { s.write("deep/n.psd", "raw\n") }, "deep/n.psd"},
		{"a file of Git LFS that is deleted", func(s *sandbox) { s.remove("a.psd") }, ""},
		{"a link by the name of one of Git LFS", func(s *sandbox) { s.link("x", "l.psd") }, ""},
		{"a file that is exempt from the filter", func(s *sandbox) { s.write("free/a.psd", "raw\n") }, ""},
		{"the filter asked for by the job itself", func(s *sandbox) { s.write(".gitattributes", "plain filter=x\n", "plain", "2\n") }, "plain"},
		{"another encoding", func(s *sandbox) { s.write("u.utf16", "x\x00") }, "u.utf16"},
		{"a nested repository", func(s *sandbox) { nestedRepository(s, "vendor/lib") }, "vendor/lib"},
		{"a nested repository without a commit", func(s *sandbox) { s.run("init", "-q", "nested"); s.write("nested/f", "f") }, "nested"},
		{"a nested repository that is ignored", func(s *sandbox) { nestedRepository(s, "ignored/lib") }, ""},
		{"a nested worktree", func(s *sandbox) { s.run("worktree", "add", "-q", "--detach", "wt") }, "wt"},
		{"a nested repository around tracked files", func(s *sandbox) { s.run("init", "-q", "dir"); s.write("dir/n", "n") }, ""},
		{"a new submodule", func(s *sandbox) {
			nestedRepository(s, "sub")
			s.run("-c", "advice.addEmbeddedRepo=false", "add", "sub")
		}, "sub"},
		{"a file that is too large", func(s *sandbox) {
			s.write("large", "x")
			must(s.t, os.Truncate(filepath.Join(s.root, "large"), largestFile+1))
		}, "large"},
		{"a link named .gitmodules", func(s *sandbox) { s.link("x", ".gitmodules") }, ".gitmodules"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSandbox(t)
			s.write(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\nfree/* -filter\n*.utf16 working-tree-encoding=UTF-16\n",
				".gitignore", "ignored/\n", "a.psd", "pointer\n", "plain", "1\n", "dir/f", "f\n")
			base := s.commit()
			s.write("plain", "changed\n")
			test.job(s)
			r := s.open()
			cs := measure(t, r, base)
			_, patchErr := r.Patch(t.Context(), cs)
			must(t, patchErr)
			_, err := r.Commit(t.Context(), cs, options(base))
			if test.path == "" {
				must(t, err)
				s.fsck()
				return
			}
			var unsupported *UnsupportedError
			if !errors.As(err, &unsupported) || !slices.Equal(unsupported.Paths, []string{test.path}) {
				t.Errorf("got %v, want an UnsupportedError about %s", err, test.path)
			}
			if !slices.Contains(paths(cs), "plain") && test.path != "plain" {
				t.Errorf("the other change is lost: %v", paths(cs))
			}
			if s.run("rev-parse", "HEAD") != base {
				t.Error("HEAD moved")
			}
		})
	}
}

func TestRepositoriesThatWereNestedBeforeAreNoChange(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	base := s.commit()
	nestedRepository(s, "vendor/lib")
	r := s.open()
	from, err := r.Snapshot(t.Context())
	must(t, err)
	s.write("a", "b\n")
	cs, err := r.Changes(t.Context(), from, nil)
	must(t, err)
	_, err = r.Commit(t.Context(), cs, options(base))
	must(t, err)
}

func TestUnsupportedErrorNamesAFewPaths(t *testing.T) {
	err := &UnsupportedError{Reason: "no", Paths: []string{"a", "b\n", "c", "d", "e", "f"}}
	if got, want := err.Error(), `no: a, "b\n", c, d, e, ...`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNothingOutsideOfTheWorkTreeIsRead(t *testing.T) {
	s := newSandbox(t)
	s.write("d/f", "inside\n")
	base := s.commit()
	s.at(s.home).write("d/f", "secret\n", "rules", "*\n")
	r := s.open()
	tree, err := r.openWorkTree(false)
	must(t, err)
	defer tree.close()
	s.remove("d")
	s.link(filepath.Join(s.home, "d"), "d")
	if c, err := tree.content("d/f", 0o100644, plumbing.ZeroHash); err == nil {
		t.Errorf("read %q through a link", c.data)
	}
	s.link(filepath.Join(s.home, "rules"), ".gitignore")
	if got := paths(measure(t, r, base)); !slices.Equal(got, []string{".gitignore", "d", "d/f"}) {
		t.Errorf("changes: %v", got)
	}
}

func TestReservedNames(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git ": true, ".git...": true, ".git::$INDEX_ALLOCATION": true, "git~1": true, "GIT~1": true,
		".g\u200cit": true, ".git\ufeff": true, ".gi\u202et": true,
		".gitignore": false, ".github": false, "git": false, ".git2": false, "git~2": false, "x.git": false, "": false, ".gi": false,
	} {
		if got := reserved(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

func TestWalksStopWhenTheContextEnds(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "a\n")
	base := s.commit()
	r := s.open()
	from, err := r.SnapshotOf(base)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, changesErr := r.Changes(ctx, from, nil)
	_, dirtyErr := r.Dirty(ctx)
	_, snapshotErr := r.Snapshot(ctx)
	_, worktreeErr := r.AddWorktree(ctx, filepath.Join(s.home, "wt"), base)
	_, copyErr := CopyDirectory(ctx, s.root, filepath.Join(s.home, "copy"), s.env())
	for i, err := range []error{changesErr, dirtyErr, snapshotErr, worktreeErr, copyErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if list := s.run("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("a worktree remains:\n%s", list)
	}
}

func TestPatchOfADirtyStartAppliesOnTheDirtyStart(t *testing.T) {
	s := newSandbox(t)
	s.write("a", "one\ntwo\n")
	s.commit()
	huge := strings.Repeat("x\n", largestKept)
	s.write("a", "one\ntwo\nuser\n", "untracked", "u\n", "huge", huge, "gone", binaryText, "to-link", "x")
	r := s.open()
	from, err := r.Snapshot(t.Context())
	must(t, err)
	before := filepath.Join(s.home, "before")
	must(t, os.CopyFS(before, os.DirFS(s.root)))
	s.write("a", "one\n2\nuser\n", "untracked", "u\nv\n", "huge", huge+"y\n")
	s.remove("gone", "to-link")
	s.link("y", "to-link")
	cs, err := r.Changes(t.Context(), from, nil)
	must(t, err)
	patch, err := r.Patch(t.Context(), cs)
	must(t, err)
	name := filepath.Join(s.home, "patch")
	must(t, os.WriteFile(name, patch, 0o644))
	s.at(before).run("apply", name)
	for _, path := range []string{"a", "untracked", "huge"} {
		want, err := os.ReadFile(filepath.Join(s.root, path))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(before, path)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %d bytes, want %d", path, err, len(got), len(want))
		}
	}
	if target, err := os.Readlink(filepath.Join(before, "to-link")); err != nil || target != "y" {
		t.Errorf("to-link: %q, %v", target, err)
	}
}
