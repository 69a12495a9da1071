package queued

import (
	"context"
	"os"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/merge"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/rundir"
)

// ReportOptions are what the flags of "millhand queue report" set.
type ReportOptions struct {
	Server    queue.Options
	Run       string
	ReportDir string
	Wait      bool
	FailOn    event.FailOn
}

// Report writes all files that the pool would have written for a run.
func Report(ctx context.Context, w world.World, o ReportOptions) error {
	q, r, err := Find(ctx, w, o.Server, o.Run)
	if err != nil {
		return err
	}
	defer q.Close()
	if o.Wait {
		if err := Wait(ctx, w, q, r); err != nil {
			return err
		}
	}
	out, err := rundir.Claim(ctx, w.Dir, o.ReportDir, "queue", w.Clock())
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer out.Close()
	dir, err := files.MakeTemp(os.TempDir(), "millhand-queue-")
	if err != nil {
		return fault.New(event.ExitInternal, "create a directory for the events of jobs: %w", err)
	}
	defer os.RemoveAll(dir.Path())
	defer dir.Close()
	parts, err := Parts(ctx, q, r, dir)
	if err != nil {
		return fault.New(event.ExitUnavailable, "%w", err)
	}
	return merge.Write(w, out, parts, o.FailOn)
}
