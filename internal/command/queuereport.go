package command

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/rundir"
)

type queueReportOptions struct {
	server    queue.Options
	run       string
	reportDir string
	wait      bool
	failOn    event.FailOn
}

func (o *queueReportOptions) parse(args []string) (err error) {
	o.run, err = oneRun("queue report", args)
	if err == nil && o.reportDir == "" {
		err = errors.New("queue report requires --report-dir DIR")
	}
	return cmp.Or(err, checkServer(o.server, "queue report"))
}

// reportQueued writes all files that the pool would have written for a run.
func reportQueued(ctx context.Context, w world.World, o queueReportOptions) error {
	q, r, err := queued.Find(ctx, w, o.server, o.run)
	if err != nil {
		return err
	}
	defer q.Close()
	if o.wait {
		if err := queued.Wait(ctx, w, q, r); err != nil {
			return err
		}
	}
	out, err := rundir.Claim(ctx, o.reportDir, "queue", w.Clock())
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
	parts, err := queued.Parts(ctx, q, r, dir)
	if err != nil {
		return fault.New(event.ExitUnavailable, "%w", err)
	}
	return writeMerged(w, out, parts, o.failOn)
}
