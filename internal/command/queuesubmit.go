package command

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/queue/submission"
)

// shortestLease is the shortest lease: a worker renews it several times in that time.
const shortestLease = time.Second

func submitFlags(o *submission.Options) []cli.Flag {
	o.Deliveries, o.Lease = 3, time.Minute
	chosen := slices.DeleteFunc(o.Plan.JobFields(), func(f option.Field) bool {
		return slices.Contains([]string{"shard", "jobs"}, f.Name) // that is what workers decide
	})
	return append(slices.Concat(serverFlagsOf(&o.Server), flagsOf(chosen)),
		&cli.GenericFlag{
			Name: "max-time", Category: option.Limits, Value: option.Of(&o.Plan.MaxTime, option.Period), DefaultText: load.FromManifest,
			Usage: "Limit the time of the run from now on to `DURATION`, for example 90m",
		},
		&cli.GenericFlag{Name: "max-deliveries", Category: option.Limits, Value: option.Of(&o.Deliveries, option.AtLeastOne), DefaultText: "3", Usage: "Fail a job that `N` workers did not end"},
		&cli.GenericFlag{
			Name: "lease", Category: option.Limits, Value: option.Of(&o.Lease, option.Period), DefaultText: "1m",
			Usage: "Deliver a job to another worker when its worker is silent for `DURATION`",
		},
		&cli.BoolFlag{Name: "no-baseline", Category: option.Limits, Destination: &o.NoBaseline, Usage: "Do not run verify commands before the agent starts"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Category: option.Outputs, Destination: &o.Quiet, Usage: "Print errors and the id only"},
	)
}

func parseSubmit(o *submission.Options, args []string) error {
	o.Plan.Paths = []load.Path{{Flag: "--sources", Path: o.Plan.Sources.File}}
	if err := cmp.Or(o.Plan.Parse("queue submit", args), checkServer(o.Server, "queue submit")); err != nil {
		return err
	}
	if o.Lease < shortestLease {
		return fmt.Errorf("--lease %s: must be at least %s", o.Lease, shortestLease)
	}
	return nil
}
