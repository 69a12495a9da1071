package gitdir

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// splitSample is an index without entries that shares those of sampleIndex, of which it deletes one.
func splitSample() []byte {
	shared := sampleIndex().Encode()
	out := append([]byte("DIRC"), 0, 0, 0, 2, 0, 0, 0, 0)
	split := shared[len(shared)-checksumSize:]
	for _, literal := range []uint64{1, 0} {
		split = binary.BigEndian.AppendUint32(split, 1)
		split = binary.BigEndian.AppendUint32(split, 2)
		split = binary.BigEndian.AppendUint64(split, 1<<33)
		split = binary.BigEndian.AppendUint64(split, literal)
		split = binary.BigEndian.AppendUint32(split, 0)
	}
	out = append(out, "link"...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(split)))
	return append(append(out, split...), make([]byte, checksumSize)...)
}

// listed returns the entries of the index as git ls-files -t --stage does.
func listed(t *testing.T, root string) string {
	t.Helper()
	git, err := Open(root, Env{})
	must(t, err)
	idx, err := git.Index()
	must(t, err)
	var out strings.Builder
	for i := range idx.Entries {
		e, tag := &idx.Entries[i], "H"
		if e.SkipWorktree() {
			tag = "S"
		}
		fmt.Fprintf(&out, "%s %06o %s %d\t%s\n", tag, uint32(e.Mode), e.Hash, e.Stage(), e.Path)
	}
	return out.String()
}

// Split and sparse indexes have the entries that git ls-files lists, whatever was added, changed and removed.
func TestSplitAndSparseIndexes(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Write("top", "top\n")
	const files = 200
	name := func(i int) string { return fmt.Sprintf("d%d/e%d/f%d", i%3, i%2, i) }
	for i := range files {
		s.Write(name(i), "1\n")
	}
	s.Commit()
	s.Run("config", "splitIndex.maxPercentChange", "100")
	same := func(step string) {
		t.Helper()
		if want, got := s.Run("ls-files", "-t", "--stage"), strings.TrimSuffix(listed(t, s.Root), "\n"); got != want {
			t.Fatalf("%s: got\n%s\nwant\n%s", step, got, want)
		}
	}
	s.Run("update-index", "--split-index")
	same("split")
	for range 6 {
		s.Write(name(rand.IntN(files)), fmt.Sprint(rand.Int()), name(rand.IntN(files)), fmt.Sprint(rand.Int()), fmt.Sprintf("d1/n%d", rand.Int()), "new\n")
		s.Run("add", "-A")
		s.Run("rm", "-q", "--cached", "--ignore-unmatch", name(rand.IntN(files)))
		same("changed")
	}
	s.Run("add", "-A")
	s.Commit()
	same("committed")
	s.Run("update-index", "--no-split-index")
	s.Run("sparse-checkout", "set", "--cone", "--sparse-index", "d0", "d1/e0")
	if !strings.Contains(s.Run("ls-files", "--sparse"), "d2/e0/\n") && !strings.Contains(s.Run("ls-files", "--sparse"), "d2/\n") {
		t.Fatal("git made no sparse index")
	}
	same("sparse")
}
