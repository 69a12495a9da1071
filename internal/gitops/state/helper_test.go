package state

import (
	"testing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// opened opens the working tree.
func opened(s *gittest.Sandbox) *Reader {
	s.T.Helper()
	git, err := gitdir.Open(s.Root, gitdir.Env{Home: s.Home, GitProgram: s.Git})
	if err != nil {
		s.T.Fatal(err)
	}
	return NewReader(git)
}

// measure returns the changes since a commit.
func measure(t *testing.T, r *Reader, commit string) *ChangeSet {
	t.Helper()
	from, err := r.SnapshotOf(commit)
	must(t, err)
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	return cs
}

func paths(cs *ChangeSet) []string {
	var list []string
	for _, c := range cs.Changes {
		list = append(list, c.Path)
	}
	return list
}

const binaryText = "\x00\x01\x02GIF\xff\xfe\n\x00"

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
