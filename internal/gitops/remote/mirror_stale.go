package remote

import (
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// staleAge is the age after which an unfinished file is assumed to be left by a
// killed run.
const staleAge = 24 * time.Hour

// removeStale removes leftovers of killed runs: incomplete packs, and
// registrations of worktrees whose directories are missing. It only saves
// space, so errors are ignored.
func removeStale(dir string, env gitdir.Env) {
	if env.Now == nil {
		return
	}
	unfinished, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*")) // the pattern is valid
	temporary, _ := filepath.Glob(filepath.Join(dir, "objects", gitdir.TemporaryName+"*"))
	unfinished = append(unfinished, temporary...)
	worktrees, _ := filepath.Glob(filepath.Join(dir, "worktrees", "*")) // the pattern is valid
	for _, name := range worktrees {
		pointer, err := gitdir.ReadPointer(filepath.Join(name, "gitdir"), "")
		if err != nil {
			continue
		}
		if _, err := os.Lstat(pointer); gitdir.Absent(err) {
			unfinished = append(unfinished, name)
		}
	}
	for _, name := range unfinished {
		if info, err := os.Lstat(name); err == nil && env.Now().Sub(info.ModTime()) > staleAge {
			_ = gitdir.RemoveAll(name)
		}
	}
}
