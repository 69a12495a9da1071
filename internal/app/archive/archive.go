// Package archive lists the runs that are saved in a directory, and removes those that are no longer needed. It
// reads the first and the last event of each run, and the totals of its report. It does not change those that it
// leaves.
package archive

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

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// ListOptions are what the flags of "millhand report list" set.
type ListOptions struct {
	Dir  string // "" for the default
	JSON bool
}

// PruneOptions are what the flags of "millhand report prune" set.
type PruneOptions struct {
	Dir       string // "" for the default
	Keep      int
	OlderThan time.Duration
	DryRun    bool
}

// Check returns an error for invalid options.
func (o PruneOptions) Check() error {
	switch {
	case o.Keep < 0:
		return errors.New("report prune requires --keep N, the number of runs to keep")
	case o.OlderThan < 0:
		return fmt.Errorf("--older-than %s: must not be negative", o.OlderThan)
	}
	return nil
}

// List prints the runs of a directory, newest first.
func List(w world.World, o ListOptions) error {
	dir, runs, err := savedrun.List(w, o.Dir)
	if err != nil {
		return err
	}
	if o.JSON {
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

// Prune removes runs, and what killed runs left.
func Prune(ctx context.Context, w world.World, o PruneOptions) error {
	_, runs, err := savedrun.List(w, o.Dir)
	if err != nil {
		return err
	}
	p := pruning{world: w, dry: o.DryRun}
	for i, r := range runs {
		old := o.OlderThan == 0 || w.Now().Sub(r.StartedAt) > o.OlderThan
		if i >= o.Keep && old && r.Removable() {
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
