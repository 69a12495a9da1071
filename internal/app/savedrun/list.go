package savedrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
)

// MaxNames is the maximum number of sessions that an error lists.
const MaxNames = 20

// List lists the runs of a directory; "" is the default directory, which may
// not exist.
func List(w world.World, dir string) (at string, runs []rundir.Saved, err error) {
	if dir == "" {
		dir = filepath.Join(".millhand", "runs")
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return dir, []rundir.Saved{}, nil
		}
	}
	runs, err = rundir.List(dir, w.Now())
	if err != nil {
		return "", nil, fault.New(event.ExitUsage, "list runs: %w", err)
	}
	return dir, runs, nil
}
