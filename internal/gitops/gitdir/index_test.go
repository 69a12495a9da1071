package gitdir

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func sampleIndex() *Index {
	return &Index{version: 2, Entries: []IndexEntry{
		{Path: "a", Mode: filemode.Regular, Stat: Stat{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{Path: "a/b", Mode: filemode.Executable, flags: flagAssumeValid},
		{Path: "a/c", Mode: filemode.Symlink, flags: 1 << 12},
		{Path: "a/c", Mode: filemode.Symlink, flags: 2 << 12},
		{Path: "a/skipped", Mode: filemode.Regular, extended: extendedSkipWorktree},
		{Path: strings.Repeat("long/", 1000), Mode: filemode.Submodule},
	}}
}

func noShared(plumbing.Hash) ([]byte, error) { return nil, ErrDamagedIndex }

func TestIndexRoundTrip(t *testing.T) {
	for _, version := range []uint32{3, 4} {
		idx := sampleIndex()
		idx.version = version
		got, err := parseIndex(idx.Encode(), noShared)
		must(t, err)
		if diff := cmp.Diff(idx, got, cmp.AllowUnexported(Index{}, IndexEntry{}, Stat{}, written{})); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
}

func TestGitReadsTheIndexesThatAreWritten(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("a", "a\n", "deep/er/b", "b\n", "deep/er/c", "c\n", strings.Repeat("x", 250)+"/"+strings.Repeat("y", 250), "long\n")
	s.Commit()
	s.Run("update-index", "--assume-unchanged", "a")
	s.Run("update-index", "--skip-worktree", "deep/er/b")
	want := s.Run("ls-files", "--stage", "-v", "--debug")
	for _, version := range []string{"2", "3", "4"} {
		s.Run("update-index", "--index-version", version)
		git, err := Open(s.Root, Env{})
		must(t, err)
		l, err := git.LockIndex(t.Context(), nil)
		must(t, err)
		must(t, l.Commit())
		got := s.Run("ls-files", "--stage", "-v", "--debug")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %s (-before +after):\n%s", version, diff)
		}
	}
}

func FuzzReadIndex(f *testing.F) {
	for _, version := range []uint32{2, 4} {
		idx := sampleIndex()
		idx.version = version
		idx.Entries = idx.Entries[:len(idx.Entries)-1] // long seeds make a slow fuzzer
		f.Add(idx.Encode())
	}
	f.Add([]byte("DIRC"))
	f.Add(splitSample())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= checksumSize { // let the fuzzer past the checksum
			clear(data[len(data)-checksumSize:])
		}
		idx, err := parseIndex(data, func(plumbing.Hash) ([]byte, error) { return sampleIndex().Encode(), nil })
		if err != nil {
			return
		}
		again, err := parseIndex(idx.Encode(), noShared)
		if err != nil {
			t.Fatal(err)
		}
		if len(idx.Entries) != len(again.Entries) {
			t.Fatalf("%d entries, then %d", len(idx.Entries), len(again.Entries))
		}
		for i := range idx.Entries {
			if idx.Entries[i] != again.Entries[i] {
				t.Errorf("%+v became %+v", idx.Entries[i], again.Entries[i])
			}
		}
	})
}

// An index does not vouch for files that a program changed in the moment of the index, even if it set
// the time of the last modification to an earlier one.
func TestRacyEntriesAreNotTrusted(t *testing.T) {
	at := written{sec: 100, nsec: 500, dev: 1}
	for _, c := range []struct {
		stat    Stat // times of the last change and modification
		trusted bool
	}{
		{Stat{100, 499, 100, 499, 1, 0, 0, 0, 1}, true},
		{Stat{100, 500, 100, 500, 1, 0, 0, 0, 1}, false},
		{Stat{100, 500, 98, 0, 1, 0, 0, 0, 1}, false},
		{Stat{100, 499, 101, 0, 1, 0, 0, 0, 1}, false},
		{Stat{100, 499, 98, 0, 2, 0, 0, 0, 1}, false},
		{Stat{99, 999, 98, 0, 2, 0, 0, 0, 1}, true},
	} {
		idx := &Index{written: at}
		e := &IndexEntry{Mode: filemode.Regular, Stat: c.stat}
		if got := idx.Current(e, &c.stat, true); got != c.trusted {
			t.Errorf("%+v: trusted: %v", c.stat, got)
		}
	}
}
