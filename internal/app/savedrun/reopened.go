package savedrun

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/history"
)

// Reopened is the report directory of a run that is changed, with what the run did.
type Reopened struct {
	Out  *rundir.Dir
	Dir  string
	Past *history.Past
}

// Reopen locks the report directory of a run and reads its events. The caller closes the
// directory.
func Reopen(ctx context.Context, w world.World, run string) (r Reopened, err error) {
	if r.Dir, err = Find(run); err != nil {
		return r, fault.Wrap(event.ExitUsage, err)
	}
	if r.Out, err = rundir.Reopen(ctx, r.Dir, w.Clock()); err != nil {
		return r, fault.Wrap(event.ExitUsage, err)
	}
	r.Past = &history.Past{}
	if _, err = r.Out.Events(r.Past.Emit); err == nil && r.Past.Run == nil {
		err = errors.New("the run has no events")
	}
	if err != nil {
		r.Out.Close()
		return r, fault.New(event.ExitUsage, "read the events of %s: %w; nothing was changed", r.Dir, err)
	}
	return r, nil
}

// Close closes the report directory of a run, and prints what could not be removed.
func Close(w world.World, out *rundir.Dir) {
	out.Close()
	if err := out.Remains(); err != nil {
		fmt.Fprintln(w.Err, printable.Text("millhand: warning: "+err.Error()))
	}
}

// Warnings is a sink that prints warnings.
type Warnings struct{ To io.Writer }

// Emit always returns nil.
func (s Warnings) Emit(e event.Event) error {
	if e.Warning != nil {
		fmt.Fprintln(s.To, printable.Text("millhand: warning: "+e.Warning.Message))
	}
	return nil
}
