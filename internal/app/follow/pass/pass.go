package pass

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// Options select the pull requests of a pass.
type Options struct {
	load.PolicyOptions
	Of     string   // manifest, or id or directory of a run
	Jobs   []string // ids; all for none
	Dir    string   // of runs; "" for the default
	JSON   bool
	Quiet  bool
	DryRun bool
}

// Row is the result for the pull request of a job.
type Row struct {
	Run    string `json:"run"`
	Job    string `json:"job"`
	Repo   string `json:"repo"`
	URL    string `json:"url"`
	Result Result `json:"result"`
	Reason string `json:"reason"`
	Commit string `json:"commit"` // that was pushed; "" for none

	exit event.Exit
}

// Make makes one pass over the open pull requests of a run or a manifest.
func Make(ctx context.Context, w world.World, o Options) error {
	dirs, err := find(w, o)
	if err != nil {
		return err
	}
	for i, file := range o.Policies { // not relative to the directory that a run was started in
		if o.Policies[i], err = filepath.Abs(file); err != nil {
			return fault.Wrap(event.ExitUsage, err)
		}
	}
	rows, seen, exits := []Row{}, map[string]bool{}, []event.Exit{}
	for _, dir := range dirs {
		made, err := over(ctx, w, o, dir, seen)
		rows = append(rows, made...)
		if err != nil && len(dirs) == 1 {
			return err
		}
		if err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
			exits = append(exits, fault.ExitOf(err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	for _, row := range rows {
		exits = append(exits, row.exit)
	}
	if err := print(w, o.JSON, rows); err != nil {
		return err
	}
	var interrupt event.Interrupt
	if errors.As(context.Cause(ctx), &interrupt) {
		exits = append(exits, interrupt.Exit)
	}
	return fault.Silent(event.Worst(exits))
}

// find returns the absolute directories of the runs, the newest first.
func find(w world.World, o Options) ([]string, error) {
	if dir, err := savedrun.Find(o.Of); err == nil {
		return []string{dir}, nil
	}
	manifest, err := filepath.Abs(o.Of)
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	if _, err := os.Stat(manifest); err != nil {
		return nil, fault.New(event.ExitUsage, "%s is neither a saved run nor a manifest: %w", o.Of, err)
	}
	_, saved, err := savedrun.List(w, o.Dir)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, s := range saved {
		past, dir, err := savedrun.Past(s.Dir)
		if err != nil || past.Run.Invocation == nil {
			continue // in use by another process, or damaged
		}
		if slices.ContainsFunc(past.Run.Manifest, func(name string) bool {
			if !filepath.IsAbs(name) {
				name = filepath.Join(past.Run.Invocation.Dir, name)
			}
			return filepath.Clean(name) == manifest
		}) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, fault.New(event.ExitUsage, "no saved run of %s found: restore the report directories of its runs, or name one", o.Of)
	}
	return dirs, nil
}

func print(w world.World, asJSON bool, rows []Row) error {
	if asJSON {
		return printable.WriteJSON(w.Out, struct {
			Jobs []Row `json:"jobs"`
		}{rows})
	}
	t := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tREPO\tRESULT\tCOMMIT\tURL")
	for _, row := range rows {
		cells := []string{row.Job, row.Repo, string(row.Result), fmt.Sprintf("%.10s", row.Commit), row.URL}
		for i, cell := range cells {
			if cells[i] = printable.Line(cell, printable.Width); cell == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range rows { // too long for the table
		if row.Reason != "" {
			if _, err := fmt.Fprintf(w.Out, "%s: %s\n", printable.Line(row.Job, printable.Width), printable.Line(row.Reason, 1000)); err != nil {
				return err
			}
		}
	}
	return nil
}
