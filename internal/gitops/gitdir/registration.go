package gitdir

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// TemporaryName is the start of the names of temporary directories in the directory objects,
// where git gc removes what a killed process left of them.
const TemporaryName = "tmp_worktree_"

// RemoveRegistration removes the git directory of a linked worktree, .git/worktrees/NAME. It
// disappears with all its files if possible: git gc fails for incomplete ones.
func RemoveRegistration(dir string) error {
	temporary := filepath.Join(dir, "..", "..", "objects", TemporaryName+rand.Text())
	if err := os.Rename(dir, temporary); err != nil {
		return sharedfile.RemoveAll(dir)
	}
	return sharedfile.RemoveAll(temporary)
}
