package remote

import (
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// staleAge is after which time something unfinished is taken to be left behind by a run that
// was killed.
const staleAge = 24 * time.Hour

// removeStale removes what killed runs have left: packs that were not received
// to their end, and what is known of worktrees whose directories are gone. It only saves
// room, so failures are passed over.
func removeStale(dir string, env gitdir.Env) {
	if env.Now == nil {
		return
	}
	unfinished, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*")) // the pattern is good
	worktrees, _ := filepath.Glob(filepath.Join(dir, "worktrees", "*"))            // the pattern is good
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
