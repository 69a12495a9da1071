package remote

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// TestThinPacksAreCompleted stores packs that git makes for somebody who has the first commit.
func TestThinPacksAreCompleted(t *testing.T) {
	s := gittest.NewSandbox(t)
	one, two := randomText(20_000), randomText(20_000)
	s.Write("one", one, "two", two)
	first := s.Commit()
	s.Write("one", one+"1\n", "two", two+"2\n", "three", one+"3\n")
	second := s.Commit()
	pack := func(args ...string) []byte {
		cmd := s.Command(append([]string{"pack-objects", "-q", "--stdout", "--revs"}, args...)...)
		cmd.Stdin = bytes.NewBufferString(second + "\n^" + first + "\n")
		out, err := cmd.Output()
		must(t, err)
		return out
	}
	full := pack("--delta-base-offset")
	for name, args := range map[string][]string{
		"bases by offset": {"--thin", "--delta-base-offset"},
		"bases by name":   {"--thin"},
	} {
		thin := pack(args...)
		if len(thin) >= len(full) {
			t.Fatalf("%s: the pack of %d bytes is not thin", name, len(thin))
		}
		alone := emptyStore(t)
		if err := storePack(t.Context(), alone, bytes.NewReader(thin)); !errors.Is(err, errThin) {
			t.Errorf("%s: without the bases: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Join(alone.Dir, "pack")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
		into := emptyStore(t)
		cmd := s.Command("pack-objects", "-q", "--stdout", "--revs")
		cmd.Stdin = bytes.NewBufferString(first + "\n")
		base, err := cmd.Output()
		must(t, err)
		for _, p := range []io.Reader{bytes.NewReader(base), bytes.NewReader(thin)} {
			must(t, storePack(t.Context(), into, p))
		}
		bare := s.At(filepath.Dir(into.Dir))
		packs, err := filepath.Glob(filepath.Join(into.Dir, "pack", "*.idx"))
		must(t, err)
		for _, idx := range packs {
			bare.Run("verify-pack", idx)
		}
		bare.Run("update-ref", "refs/heads/main", second)
		bare.Fsck()
		if got := bare.Run("show", second+":three"); got != one+"3" {
			t.Errorf("%s: the content has %d bytes", name, len(got))
		}
	}
}
