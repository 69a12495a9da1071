package gitops

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
)

// A run has one worktree for each job, and each job adds a pack to the repository.
func TestWorktreesShareWhatTheRepositoryHasRead(t *testing.T) {
	_, r, base := packed(t)
	found, err := filepath.Glob(filepath.Join(r.Git.Objects.Dir, "pack", "pack-*"))
	must(t, err)
	for _, file := range found {
		if ext := filepath.Ext(file); ext == ".idx" || ext == ".pack" {
			for i := range 300 {
				must(t, os.Link(file, filepath.Join(filepath.Dir(file), fmt.Sprintf("pack-%040d%s", i, ext))))
			}
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pool of compressors
	const most = 500 << 10
	least := uint64(math.MaxUint64)
	for i := 0; i < 40 && least > most; i++ { // with the race detector, pools forget at random
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		wt, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), base)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(wt.Root(), "new"), fmt.Appendln(nil, i), 0o666))
		from, err := wt.SnapshotOf(base)
		must(t, err)
		cs, err := wt.Changes(t.Context(), from)
		must(t, err)
		_, err = wt.Commit(t.Context(), cs, options(base))
		must(t, err)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > most {
		t.Errorf("a worktree with a commit allocates %d KiB", least>>10)
	}
}
