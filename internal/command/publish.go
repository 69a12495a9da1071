package command

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// publishOptions select jobs of a saved run to publish.
type publishOptions struct {
	publishedOptions
	mode   string // "" for that of each job
	dryRun bool
}

func (o *publishOptions) flags() []cli.Flag {
	return append(o.publishedOptions.flags(),
		&cli.StringFlag{Name: "publish", Destination: &o.mode, DefaultText: "from the manifest, else pr", Usage: "Publish as `MODE`: push or pr"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, EnvVars: noVariable(), Usage: "Print what would be published"})
}

func (o *publishOptions) parse(args []string) error {
	if m := tasks.PublishMode(o.mode); o.mode != "" && !m.Pushes() {
		return fmt.Errorf("--publish %s: must be push or pr", o.mode)
	}
	return o.publishedOptions.parse(args)
}

// publishRun publishes the jobs of a saved run that were not published.
func publishRun(ctx context.Context, w world.World, o publishOptions) error {
	p, err := pulls.Begin(ctx, w, pulls.PublishOptions{Run: o.run, Jobs: o.jobs, Mode: o.mode, DryRun: o.dryRun})
	if err != nil {
		return err
	}
	defer p.Close()
	if p.Pending() {
		dir, run := p.Saved()
		access, err := accessOf(ctx, w, dir, o.PolicyOptions)
		if err != nil {
			return err
		}
		var failOn event.FailOn
		if own, err := invoked(run); err == nil {
			failOn = own.FailOn
		}
		if err := p.Publish(ctx, access, failOn); err != nil {
			return err
		}
	}
	result, exit := p.Result(ctx)
	if o.json {
		err = printable.WriteJSON(w.Out, result)
	} else {
		err = p.Print(w.Out)
	}
	return cmp.Or(err, fault.Silent(exit))
}
