package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

type listRunsOptions struct {
	dir  string // "" for the default
	json bool
}

type pruneRunsOptions struct {
	dir       string // "" for the default
	keep      int
	olderThan time.Duration
	dryRun    bool
}

// runsCommand is the former name of "report list" and "report prune".
func runsCommand(w world.World) *cli.Command {
	return &cli.Command{Name: "runs", Usage: "List and remove saved runs", Hidden: true, Subcommands: runsCommands(w)}
}

// runsCommands are the commands about all saved runs.
func runsCommands(w world.World) []*cli.Command {
	dir := func(to *string) cli.Flag {
		return &cli.StringFlag{Name: "dir", Destination: to, DefaultText: ".millhand/runs", Usage: "Use the runs in `DIR`: a directory of runs, or a report directory with its earlier runs"}
	}
	list, prune := &listRunsOptions{}, &pruneRunsOptions{}
	return []*cli.Command{
		{
			Name: "list", Usage: "List saved runs, newest first",
			Flags:  []cli.Flag{dir(&list.dir), jsonFlag(&list.json, "Print one JSON document")},
			Action: act(list.parse, func(context.Context) error { return listRuns(w, *list) }),
		},
		{
			Name: "prune", Usage: "Remove saved runs except the newest and those still running, and what killed runs left",
			UsageText: "millhand report prune --keep 20\nmillhand report prune --keep 0 --older-than 720h --dry-run",
			Flags: []cli.Flag{
				dir(&prune.dir),
				// Not set by MILLHAND_KEEP, which is for "run --keep": removed runs can't be restored.
				&cli.IntFlag{Name: "keep", Destination: &prune.keep, Value: -1, EnvVars: noVariable(), DefaultText: "required", Usage: "Keep the newest `N` runs"},
				&cli.DurationFlag{Name: "older-than", Destination: &prune.olderThan, DefaultText: "any age", Usage: "Remove only runs that started more than `DURATION` ago, for example 720h"},
				&cli.BoolFlag{Name: "dry-run", Destination: &prune.dryRun, Usage: "Print what would be removed, and remove nothing"},
			},
			Action: act(prune.parse, func(ctx context.Context) error { return pruneRuns(ctx, w, *prune) }),
		},
	}
}

func (o *listRunsOptions) parse(args []string) error { return noArguments("report list", args) }

func (o *pruneRunsOptions) parse(args []string) error {
	switch {
	case o.keep < 0:
		return errors.New("report prune requires --keep N, the number of runs to keep")
	case o.olderThan < 0:
		return fmt.Errorf("--older-than %s: must not be negative", o.olderThan)
	}
	return noArguments("report prune", args)
}

func listRuns(w world.World, o listRunsOptions) error {
	dir, runs, err := runs.FindRuns(w, o.dir)
	if err != nil {
		return err
	}
	if o.json {
		return printable.WriteJSON(w.Out, struct {
			Dir  string         `json:"dir"`
			Runs []rundir.Saved `json:"runs"`
		}{dir, runs})
	}
	if len(runs) == 0 {
		fmt.Fprintf(w.Err, "millhand: no runs found in %s\n", printable.Text(dir))
		return nil
	}
	t := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTARTED\tELAPSED\tOUTCOME\tEXIT\tJOBS\tCOST\tPLAN")
	for _, r := range runs {
		fmt.Fprintln(t, strings.Join(columns(r), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Damage != "" {
			fmt.Fprintf(w.Err, "millhand: %s is corrupt: %s\n", printable.Line(r.Dir, printable.Width), printable.Line(r.Damage, printable.Width))
		}
	}
	return nil
}

// columns returns the cells of a run in the table.
func columns(r rundir.Saved) []string {
	elapsed, exit, passed, cost := "-", "-", "-", "-"
	if r.ElapsedMS != nil {
		elapsed = figures.Duration(*r.ElapsedMS)
	}
	if r.ExitCode != nil {
		exit = strconv.Itoa(int(*r.ExitCode))
	}
	if r.Passed != nil {
		passed, cost = strconv.Itoa(*r.Passed), "unknown"
	}
	if r.CostUSD != nil {
		cost = money.Rounded(r.CostUSD)
	}
	plan := printable.Line(r.PlanHash, printable.Width)
	return []string{
		printable.Line(r.ID, 80), r.StartedAt.UTC().Format(time.RFC3339), elapsed, printable.Line(string(r.Outcome), 20), exit,
		fmt.Sprintf("%s/%d", passed, r.Jobs), cost, cmp.Or(plan[:min(len(plan), 12)], "-"),
	}
}

func pruneRuns(ctx context.Context, w world.World, o pruneRunsOptions) error {
	_, runs, err := runs.FindRuns(w, o.dir)
	if err != nil {
		return err
	}
	p := pruning{world: w, dry: o.dryRun}
	for i, r := range runs {
		old := o.olderThan == 0 || w.Now().Sub(r.StartedAt) > o.olderThan
		if i >= o.keep && old && r.Removable() {
			p.prune(ctx, r)
		}
	}
	p.pruneLeftovers()
	removed, freed := "removed", "freed"
	if p.dry {
		removed, freed = "would remove", "would free"
	}
	fmt.Fprintf(w.Out, "%s %s, %s %s; %d left\n", removed, figures.Count(p.removed, "run"), freed, figures.Bytes(p.freed), len(runs)-p.removed)
	if p.errs != nil {
		return fault.Wrap(event.ExitUsage, p.errs)
	}
	return nil
}

// pruning removes runs and counts them.
type pruning struct {
	world   world.World
	dry     bool
	removed int
	freed   int64
	errs    error
}

// pruneLeftovers removes what killed runs left in TMPDIR.
func (p *pruning) pruneLeftovers() {
	tmp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return // then nothing is left
	}
	if p.dry {
		for _, l := range rundir.Leftovers(tmp) {
			fmt.Fprintln(p.world.Out, "would remove "+l.String())
		}
		return
	}
	removed, err := rundir.Sweep(tmp, nil, p.world.Now())
	p.errs = errors.Join(p.errs, err)
	for _, l := range removed {
		fmt.Fprintln(p.world.Out, "removed "+l.String())
	}
}

// prune removes one run, unless a new one has started in its directory.
func (p *pruning) prune(ctx context.Context, r rundir.Saved) {
	size := rundir.DiskUse(r.Dir)
	verb := "would remove"
	if !p.dry {
		verb = "removed"
		err := rundir.Remove(ctx, r.Dir, p.world.Clock())
		if errors.Is(err, rundir.ErrInUse) || errors.Is(err, fs.ErrNotExist) {
			return // a new run started there, or another process removed it
		}
		if err != nil {
			p.errs = errors.Join(p.errs, fmt.Errorf("remove %s: %w", r.Dir, err))
			return
		}
	}
	p.removed++
	p.freed += size
	fmt.Fprintf(p.world.Out, "%s %s (%s, %s)\n", verb, printable.Line(r.Dir, printable.Width), printable.Line(string(r.Outcome), 20), figures.Bytes(size))
}
