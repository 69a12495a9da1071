package command

import (
	"cmp"
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/archive"
	"github.com/millhand/millhand/internal/app/world"
)

// runsCommand is the former name of "report list" and "report prune".
func runsCommand(w world.World) *cli.Command {
	return &cli.Command{Name: "runs", Usage: "List and remove saved runs", Hidden: true, Subcommands: runsCommands(w)}
}

// runsCommands are the commands about all saved runs.
func runsCommands(w world.World) []*cli.Command {
	dir := func(to *string) cli.Flag {
		return &cli.StringFlag{Name: "dir", Destination: to, DefaultText: ".millhand/runs", Usage: "Use the runs in `DIR`: a directory of runs, or a report directory with its earlier runs"}
	}
	list, prune := &archive.ListOptions{}, &archive.PruneOptions{}
	return []*cli.Command{
		{
			Name: "list", Usage: "List saved runs, newest first",
			Flags:  []cli.Flag{dir(&list.Dir), jsonFlag(&list.JSON, "Print one JSON document")},
			Action: act(withoutArguments("report list"), func(context.Context) error { return archive.List(w, *list) }),
		},
		{
			Name: "prune", Usage: "Remove saved runs except the newest and those still running, and what killed runs left",
			UsageText: "millhand report prune --keep 20\nmillhand report prune --keep 0 --older-than 720h --dry-run",
			Flags: []cli.Flag{
				dir(&prune.Dir),
				// Not set by MILLHAND_KEEP, which is for "run --keep": removed runs can't be restored.
				&cli.IntFlag{Name: "keep", Destination: &prune.Keep, Value: -1, EnvVars: noVariable(), DefaultText: "required", Usage: "Keep the newest `N` runs"},
				&cli.DurationFlag{Name: "older-than", Destination: &prune.OlderThan, DefaultText: "any age", Usage: "Remove only runs that started more than `DURATION` ago, for example 720h"},
				&cli.BoolFlag{Name: "dry-run", Destination: &prune.DryRun, Usage: "Print what would be removed, and remove nothing"},
			},
			Action: act(func(args []string) error { return cmp.Or(prune.Check(), noArguments("report prune", args)) }, func(ctx context.Context) error { return archive.Prune(ctx, w, *prune) }),
		},
	}
}
