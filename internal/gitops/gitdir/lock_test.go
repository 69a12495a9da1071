package gitdir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCommitOfALockWhosePackedDirectoryGoes removes each reference and its directory as soon as it is there,
// as git pack-refs does after it has packed it.
func TestCommitOfALockWhosePackedDirectoryGoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bot")
	target := filepath.Join(dir, "x")
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
				if os.Remove(target) == nil {
					_ = os.Remove(dir)
				}
			}
		}
	}()
	defer func() { close(over); <-done }()
	for n := range 2000 {
		must(t, os.MkdirAll(dir, 0o755))
		l, err := Lock(t.Context(), target, Env{})
		if os.IsNotExist(err) {
			continue // the directory of the one before went only now
		}
		must(t, err)
		if err := l.Commit(); err != nil {
			t.Fatalf("after %d commits: %v", n, err)
		}
	}
}
