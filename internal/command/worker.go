package command

import (
	"cmp"
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/queue/worker"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks/form"
)

func workerCommand(w world.World) *cli.Command {
	o := &worker.Options{Jobs: 1, Sandbox: string(sandbox.Auto), MinFree: 1e9}
	return &cli.Command{
		Name: "worker", Usage: "Run jobs of a queue until a signal: SIGTERM gives those that run back",
		UsageText: "millhand worker --url nats://queue.example.com:4222 --jobs 4\nmillhand worker --url tls://queue.example.com:4222 --policy /etc/millhand/worker.yaml --max-idle 10m",
		Flags: append(serverFlagsOf(&o.Server),
			&cli.GenericFlag{Name: "jobs", Category: option.Limits, Value: option.Of(&o.Jobs, option.AtLeastOne), DefaultText: "1", Usage: "Run up to `N` jobs in parallel"},
			&cli.BoolFlag{Name: "once", Category: option.Limits, Destination: &o.Once, Usage: "Exit after one job"},
			&cli.BoolFlag{Name: "drain", Category: option.Limits, Destination: &o.Drain, Usage: "Exit when no job waits"},
			&cli.GenericFlag{Name: "max-idle", Category: option.Limits, Value: option.Of(&o.MaxIdle, option.Period), DefaultText: "any time", Usage: "Exit after `DURATION` without a job, for example 10m"},
			&cli.GenericFlag{
				Name: "min-free", Category: option.Limits, Value: option.Of(&o.MinFree, form.ParseBytes), DefaultText: "1GB",
				Usage: "Claim no jobs while less than `SIZE` is free on the disks of TMPDIR or of the cache",
			},
			flagOf(o.Policies.PolicyField(option.Permissions)),
			&cli.BoolFlag{
				Name: "untrusted", Category: option.Permissions, Destination: &o.Policies.Untrusted,
				Usage: "Treat the manifests of all runs as untrusted: preset readonly, and no access to this machine or other hosts",
			},
			flagOf(levels.Field(&o.Sandbox, option.Permissions)),
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Category: option.Outputs, Destination: &o.Quiet, Usage: "Print errors only"},
		),
		Action: act(func(args []string) error { return cmp.Or(noArguments("worker", args), checkServer(o.Server, "worker")) }, func(ctx context.Context) error { return worker.Run(ctx, w, *o) }),
	}
}
