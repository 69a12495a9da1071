package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// A file that the index does not vouch for is read once, if it is old enough.
func TestFilesWithStaleTimesAreReadOnce(t *testing.T) {
	for name, age := range map[string]time.Duration{"old": time.Minute, "young": 0} {
		t.Run(name, func(t *testing.T) {
			s := gittest.NewSandbox(t)
			s.Write("a.txt", "1\n")
			s.Commit()
			file := filepath.Join(s.Root, "a.txt")
			must(t, os.Chtimes(file, gittest.TestTime, gittest.TestTime)) // as in an image layer
			git, err := gitdir.Open(s.Root, gitdir.Env{Home: s.Home, Now: func() time.Time { return time.Now().Add(age) }})
			must(t, err)
			r := NewReader(git)
			dirty, err := r.Dirty(t.Context())
			must(t, err)
			if len(dirty) > 0 {
				t.Fatalf("dirty: %q", dirty)
			}
			known, read := r.hashes.byPath["a.txt"]
			if read != (age > 0) {
				t.Fatalf("recorded: %v", read)
			}
			known.hash = plumbing.NewHash("1111111111111111111111111111111111111111")
			r.hashes.byPath = map[string]hashed{"a.txt": known}
			want := 0
			if read {
				want = 1 // the recorded hash is used
			}
			if dirty, err := r.Dirty(t.Context()); err != nil || len(dirty) != want {
				t.Errorf("dirty: %q, %v", dirty, err)
			}
			s.Write("a.txt", "1\n") // another time
			if dirty, err := r.Dirty(t.Context()); err != nil || len(dirty) != 0 {
				t.Errorf("after a change of its times: %q, %v", dirty, err)
			}
		})
	}
}
