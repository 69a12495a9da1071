package state

import (
	"maps"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// The index replaces the trees of a commit exactly where it has the same files.
func TestAnIndexListsACommit(t *testing.T) {
	change := func(args ...string) func(s *gittest.Sandbox) {
		return func(s *gittest.Sandbox) {
			s.Write("a", "2\n", "new", "1\n")
			s.Run(args...)
		}
	}
	for name, c := range map[string]struct {
		change func(s *gittest.Sandbox)
		listed bool
	}{
		"after a commit":    {func(*gittest.Sandbox) {}, true},
		"changed files":     {change("status"), true},
		"after a checkout":  {change("checkout", "-q", "-f", "--detach", "HEAD"), true},
		"assumed unchanged": {change("update-index", "--assume-unchanged", "a"), false},
		"a staged change":   {change("add", "a"), false},
		"a staged file":     {change("add", "new"), false},
		"an intended file":  {change("add", "-N", "new"), false},
		"a removed file":    {change("rm", "-q", "--cached", "d/b"), false},
		"another commit":    {change("checkout", "-q", "-f", "HEAD~"), false},
		"a replaced tree":   {change("replace", "HEAD^{tree}", "HEAD~^{tree}"), false},
		"an empty index":    {change("read-tree", "--empty"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write("a", "0\n")
			s.Commit()
			s.Write("a", "1\n", "d/b", "1\n", "d/e/c", "1\n")
			s.Symlink("a", "link")
			s.Run("update-index", "--add", "--chmod=+x", "d/b")
			commit := s.Commit()
			c.change(s)
			r := opened(s)
			idx, err := r.Git.Index()
			must(t, err)
			root, err := r.RootTree(commit)
			must(t, err)
			tree := r.Git.Objects.Replaces() || !idx.Lists(plumbing.NewHash(root))
			if tree == c.listed {
				t.Errorf("listed by trees: %t", tree)
			}
			got, err := r.listingBy(idx, commit)
			if got == nil && err == nil {
				got, err = r.SnapshotOf(commit)
			}
			must(t, err)
			want, err := opened(s).SnapshotOf(commit)
			must(t, err)
			if !maps.Equal(got.ByPath(), want.ByPath()) || len(want.ByPath()) == 0 {
				t.Errorf("files %v, want %v", got.ByPath(), want.ByPath())
			}
		})
	}
}

// A listing by the index is that of the index as it was in the preflight, whatever becomes of the index.
func TestAListingKeepsItsIndex(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "1\n", "d/b", "1\n")
	commit := s.Commit()
	r := opened(s)
	if _, err := r.Converted(t.Context(), commit, "", func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	listing := r.Listed(commit)
	if listing == nil || listing.byPath != nil {
		t.Fatalf("listing %v is missing or was used", listing)
	}
	s.Run("rm", "-q", "--cached", "a")
	got, err := r.SnapshotOf(commit)
	must(t, err)
	want, err := opened(s).SnapshotOf(commit)
	must(t, err)
	if got != listing || !maps.Equal(got.ByPath(), want.ByPath()) {
		t.Errorf("files %v, want %v", got.ByPath(), want.ByPath())
	}
}
