package command

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/distill/distillery"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
)

func distillCommand(w world.World) *cli.Command {
	o := &distillery.Options{Of: *invocation.New()}
	flags := []cli.Flag{
		&cli.StringFlag{Name: "task", Destination: &o.Task, EnvVars: noVariable(), DefaultText: "the only one", Usage: "Use the jobs of task `ID`"},
		&cli.GenericFlag{
			Name: "patch", Value: (*option.Texts)(&o.Patches), EnvVars: noVariable(), DefaultText: "of all jobs that passed",
			Usage: "Accept only the patch `FILE`, named after its job as in the report directory (repeatable)",
		},
		&cli.BoolFlag{Name: "merged", Destination: &o.Merged, EnvVars: noVariable(), Usage: "Accept only the patches whose pull requests are merged"},
		&cli.StringFlag{Name: "script", Destination: &o.Script, EnvVars: noVariable(), Usage: "Check the script in `FILE` instead of asking a model for one"},
		&cli.StringFlag{Name: "output", Destination: &o.Output, EnvVars: noVariable(), DefaultText: "the task's id", Usage: "Write the script to `FILE`, with the extension of its language"},
		&cli.StringFlag{Name: "model", Destination: &o.Of.Plan.Model, EnvVars: noVariable(), DefaultText: "that of the task", Usage: "Ask `MODEL`"},
		&cli.GenericFlag{Name: "max-cost", Value: option.Of(&o.Of.Plan.MaxCost, option.Dollars), EnvVars: noVariable(), DefaultText: "that of the run", Usage: "Limit the cost to `USD` (US dollars)"},
		&cli.GenericFlag{
			Name: "jobs", Value: option.Of(&o.Parallel, option.AtLeastOne), EnvVars: noVariable(), DefaultText: "that of the run",
			Usage: "Try the script in up to `N` repositories in parallel",
		},
		&cli.StringFlag{Name: "report-dir", Destination: &o.Of.ReportDir, EnvVars: noVariable(), DefaultText: ".millhand/runs/RUN-ID", Usage: "Write the reports into `DIR`"},
	}
	return &cli.Command{
		Name: "distill", Usage: "Make a script of the accepted patches of a task", ArgsUsage: "RUN",
		Description: "Ask a model once, without permission to change anything, for a script that makes the change of a run's accepted patches. The script is " +
			"accepted only if it makes the accepted change in at least three jobs whose patches the model did not get, and a wrong one in none. It is written " +
			"for people to review and commit, and used by the key script of a task.",
		UsageText: "millhand distill 20260102-030405-1a2b3c4d --task ioutil --output scripts/ioutil\nmillhand distill 20260102-030405-1a2b3c4d --task ioutil --script scripts/ioutil.sh",
		Flags:     append(flags, flagsOf(o.Of.LogFields())...),
		Action:    act(func(args []string) error { return parseDistill(o, args) }, func(ctx context.Context) error { return distillery.Run(ctx, w, *o) }),
	}
}

func parseDistill(o *distillery.Options, args []string) error {
	switch {
	case len(args) != 1:
		return errors.New("requires one RUN, the id or the report directory of a run")
	case o.Script != "" && o.Output != "":
		return errors.New("--output can't be combined with --script, which writes no script")
	case o.Merged && len(o.Patches) > 0:
		return errors.New("--merged can't be combined with --patch: name the merged patches")
	}
	o.Run = args[0]
	if o.Of.Verbose {
		o.Of.Log.Level = "debug"
	}
	for _, path := range append([]*string{&o.Script, &o.Output, &o.Of.ReportDir}, pointers(o.Patches)...) {
		if err := makeAbsolute(path); err != nil {
			return err
		}
	}
	return nil
}

func pointers(list []string) []*string {
	var all []*string
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// makeAbsolute makes a path absolute; "" stays.
func makeAbsolute(path *string) (err error) {
	if *path != "" {
		*path, err = filepath.Abs(*path)
	}
	return err
}
