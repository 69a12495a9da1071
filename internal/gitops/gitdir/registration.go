package gitdir

import (
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// RemoveRegistration removes the git directory of a linked worktree, .git/worktrees/NAME. It
// disappears with all its files if possible: git gc fails for incomplete ones.
func RemoveRegistration(dir string) error {
	temporary := objectdb.TempTreeName(filepath.Join(dir, "..", "..", "objects"))
	if err := os.Rename(dir, temporary); err != nil {
		return sharedfile.RemoveAll(dir)
	}
	return sharedfile.RemoveAll(temporary)
}
