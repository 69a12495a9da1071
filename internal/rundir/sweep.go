package rundir

import (
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/tools"
)

// OutputsKept is how long outputs that were too long for a model are kept.
const OutputsKept = 7 * 24 * time.Hour

// prune removes old outputs of earlier runs, here and in the working directory.
func (d *Dir) prune() {
	for base, pattern := range map[string]string{".": filepath.Join(".millhand", "runs", "*", "outputs"), d.path: filepath.Join("earlier", "*", "outputs")} {
		found, _ := filepath.Glob(filepath.Join(base, pattern))
		for _, outputs := range found {
			rel, err := filepath.Rel(base, outputs)
			if err != nil {
				continue
			}
			// What can't be removed is retried by the next run.
			if dir, err := reportdir.Enter(base, rel); err == nil {
				tools.PruneOutputs(dir, d.now().Add(-OutputsKept)) //nolint:errcheck // see above
				dir.Close()
			}
		}
	}
}

// settled is how old a private directory is before it counts as left behind: one
// that was just made may not be locked yet.
const settled = time.Hour

// sweep removes the private directories that killed runs have left, but not the
// reports in them, which get a name of their own beside. What can't be removed is
// somebody else's, or is retried by the next run.
func sweep(dir string, now time.Time) {
	found, _ := filepath.Glob(filepath.Join(dir, "millhand-*"))
	for _, left := range found {
		lock, err := os.Lstat(filepath.Join(left, lockFile))
		if err != nil || !lock.Mode().IsRegular() || now.Sub(lock.ModTime()) < settled {
			continue
		}
		if held, _, err := inUse(left); err == nil && !held && rescue(left) == nil {
			os.RemoveAll(left)
		}
	}
}

// rescue takes the reports out of the private directory of a killed run.
func rescue(work string) error {
	if _, err := os.Lstat(filepath.Join(work, awayName)); err != nil {
		return nil //nolint:nilerr // nothing to keep
	}
	_, err := keepReports(work)
	return err
}
