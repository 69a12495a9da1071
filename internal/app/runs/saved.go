package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
)

// FindRuns lists the runs of a directory; "" is the default directory, which may
// not exist.
func FindRuns(w world.World, dir string) (at string, runs []rundir.Saved, err error) {
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

// CloseRun closes the report directory of a run, and prints what could not be removed.
func CloseRun(w world.World, out *rundir.Dir) {
	out.Close()
	if err := out.Remains(); err != nil {
		fmt.Fprintln(w.Err, printable.Text("millhand: warning: "+err.Error()))
	}
}
