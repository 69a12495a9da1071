package remote

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// staleAge is the age after which an unfinished file is assumed to be left by a
// killed run.
const staleAge = 24 * time.Hour

// removeStale removes leftovers of killed runs: incomplete packs, packs that were being removed, and
// registrations of worktrees whose directories are missing. It only saves
// space, so errors are ignored.
func removeStale(dir string, env gitdir.Env) {
	if env.Now == nil {
		return
	}
	unfinished, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*")) // the pattern is valid
	temporary, _ := filepath.Glob(filepath.Join(dir, "objects", objectdb.TempTree+"*"))
	ofGit, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", ".tmp-*"))
	unfinished = slices.Concat(unfinished, temporary, ofGit, halfPacks(dir))
	worktrees, _ := filepath.Glob(filepath.Join(dir, "worktrees", "*")) // the pattern is valid
	for _, name := range worktrees {
		pointer, err := gitdir.ReadPointer(filepath.Join(name, "gitdir"), "")
		if err != nil {
			continue
		}
		if _, err := os.Lstat(pointer); sharedfile.Absent(err) {
			unfinished = append(unfinished, name)
		}
	}
	for _, name := range unfinished {
		if info, err := os.Lstat(name); err == nil && env.Now().Sub(info.ModTime()) > staleAge {
			_ = sharedfile.RemoveAll(name)
		}
	}
}

// halfPacks returns the files of packs that lack the index or the pack itself.
func halfPacks(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "pack-*.*")) // the pattern is valid
	present := map[string]bool{}
	for _, name := range all {
		present[name] = true
	}
	return slices.DeleteFunc(all, func(name string) bool {
		base := strings.TrimSuffix(name, filepath.Ext(name))
		return present[base+".idx"] && present[base+".pack"]
	})
}
