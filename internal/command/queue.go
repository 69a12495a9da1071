package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/queue/submission"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
)

func queueCommand(w world.World) *cli.Command {
	submit, status, cancel, report := &submission.Options{}, &queueStatusOptions{}, &queueCancelOptions{}, &queued.ReportOptions{FailOn: event.FailOnAny}
	return &cli.Command{
		Name: "queue", Usage: "Run jobs on several machines, through a NATS server",
		Subcommands: []*cli.Command{
			{
				Name: "submit", Usage: "Queue the jobs of manifests for workers, and print the id of the run", ArgsUsage: "[MANIFEST...]",
				Description: "Queue the jobs of manifests for workers, and print the id of the run.\n" + load.OrUsual,
				UsageText:   "millhand queue submit millhand.yaml --url nats://queue.example.com:4222\nmillhand queue submit --max-cost 50 --only migrate millhand.yaml",
				Flags:       submitFlags(submit),
				Action:      act(func(args []string) error { return parseSubmit(submit, args) }, func(ctx context.Context) error { return submission.Submit(ctx, w, *submit) }),
			},
			{
				Name: "status", Usage: "Print the jobs of a queued run, its cost, and the workers", ArgsUsage: "RUN",
				Flags: append(serverFlagsOf(&status.server),
					&cli.BoolFlag{Name: "watch", Destination: &status.watch, Usage: "Print it again after changes, until the run has ended"},
					jsonFlag(&status.json, "Print one JSON document"),
				),
				Action: act(status.parse, func(ctx context.Context) error { return queueStatus(ctx, w, *status) }),
			},
			{
				Name: "cancel", Usage: "Cancel a queued run: its jobs that run are stopped, the others are not started", ArgsUsage: "RUN",
				Flags:  serverFlagsOf(&cancel.server),
				Action: act(cancel.parse, func(ctx context.Context) error { return cancelRun(ctx, w, *cancel) }),
			},
			{
				Name: "report", Usage: "Write the reports of a queued run, and exit as the run would", ArgsUsage: "RUN",
				UsageText: "millhand queue report 20260102-030405-1a2b3c4d --wait --report-dir out",
				Flags: append(serverFlagsOf(&report.Server),
					&cli.StringFlag{Name: "report-dir", Destination: &report.ReportDir, Usage: "Write the reports into `DIR` (required)"},
					&cli.BoolFlag{Name: "wait", Destination: &report.Wait, Usage: "Wait until all jobs have ended"},
					flagOf(invocation.FailOnField(&report.FailOn, "")),
				),
				Action: act(func(args []string) error { return parseQueueReport(report, args) }, func(ctx context.Context) error { return queued.Report(ctx, w, *report) }),
			},
		},
	}
}

type queueCancelOptions struct {
	server queue.Options
	run    string
}

func (o *queueCancelOptions) parse(args []string) (err error) {
	o.run, err = oneRun("queue cancel", args)
	return cmp.Or(err, checkServer(o.server, "queue cancel"))
}

// cancelRun cancels a run.
func cancelRun(ctx context.Context, w world.World, o queueCancelOptions) error {
	q, r, err := queued.Find(ctx, w, o.server, o.run)
	if err != nil {
		return err
	}
	defer q.Close()
	left, err := q.Cancel(ctx, r, "millhand queue cancel")
	if err != nil {
		return fault.New(event.ExitUnavailable, "%w", err)
	}
	fmt.Fprintf(w.Err, "cancelled run %s: %s had not ended\n", r.ID, figures.Count(left, "job"))
	return nil
}

func parseQueueReport(o *queued.ReportOptions, args []string) (err error) {
	o.Run, err = oneRun("queue report", args)
	if err == nil && o.ReportDir == "" {
		err = errors.New("queue report requires --report-dir DIR")
	}
	return cmp.Or(err, checkServer(o.Server, "queue report"))
}
