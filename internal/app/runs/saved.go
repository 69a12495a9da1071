package runs

import (
	"fmt"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
)

// CloseRun closes the report directory of a run, and prints what could not be removed.
func CloseRun(w world.World, out *rundir.Dir) {
	out.Close()
	if err := out.Remains(); err != nil {
		fmt.Fprintln(w.Err, printable.Text("millhand: warning: "+err.Error()))
	}
}
