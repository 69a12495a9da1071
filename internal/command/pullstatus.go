package command

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
)

func publishCommand(w World) *cli.Command {
	o := &publishOptions{}
	return &cli.Command{
		Name: "publish", Usage: "Publish a saved run, and manage its pull requests", ArgsUsage: "RUN [JOB...]",
		UsageText: "millhand publish 20260102-030405-1a2b3c4d --dry-run\nmillhand publish .millhand/runs/20260102-030405-1a2b3c4d --publish pr",
		Flags:     o.flags(), Subcommands: pullCommands(w),
		Action: act(o.parse, func(ctx context.Context) error { return publishRun(ctx, w, *o) }),
	}
}

// pullCommands are the commands for pull requests of a saved run.
func pullCommands(w World) []*cli.Command {
	status, merge, shut, revert := &publishedOptions{}, &mergePullsOptions{}, &closePullsOptions{}, &closePullsOptions{}
	return []*cli.Command{
		{
			Name: "status", Usage: "Print the state of a run's pull requests", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish status 20260102-030405-1a2b3c4d",
			Flags:     status.flags(),
			Action:    act(status.parse, func(ctx context.Context) error { return pullStatus(ctx, w, *status) }),
		},
		{
			Name: "merge", Usage: "Merge the pull requests of a run whose checks pass", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish merge 20260102-030405-1a2b3c4d --dry-run\nmillhand publish merge 20260102-030405-1a2b3c4d fix-tests-api --method squash",
			Flags:     merge.flags(),
			Action:    act(merge.parse, func(ctx context.Context) error { return mergePulls(ctx, w, *merge) }),
		},
		{
			Name: "close", Usage: "Close the open pull requests of a run without merging them", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish close 20260102-030405-1a2b3c4d --delete-branch --comment 'Replaced by another run.'",
			Flags:     shut.flags(),
			Action:    act(shut.parse, func(ctx context.Context) error { return closePulls(ctx, w, *shut) }),
		},
		{
			Name: "revert", Usage: "Open inverse pull requests for those of a run that were merged, and close the others", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish revert 20260102-030405-1a2b3c4d --dry-run\nmillhand publish revert 20260102-030405-1a2b3c4d --delete-branch --comment 'The prompt was wrong.'",
			Flags:     revert.revertFlags(),
			Action:    act(revert.parse, func(ctx context.Context) error { return revertPulls(ctx, w, *revert) }),
		},
	}
}

// pullReaders is the number of pull requests that are read concurrently.
const pullReaders = 4

func pullStatus(ctx context.Context, w World, o publishedOptions) error {
	r, err := openPublished(ctx, w, o, false)
	if err != nil {
		return err
	}
	rows := make([]pullRow, len(r.jobs))
	var all sync.WaitGroup
	next := make(chan int)
	for range pullReaders {
		all.Go(func() {
			for i := range next {
				rows[i] = r.status(ctx, r.jobs[i])
			}
		})
	}
	for i := range r.jobs {
		next <- i
	}
	close(next)
	all.Wait()
	return r.print(ctx, o.json, rows)
}

// status returns the state of a job's pull request.
func (r *publishedRun) status(ctx context.Context, j report.Job) pullRow {
	row, pr, client, _ := r.begin(ctx, j)
	row.Result = ""
	if client != nil && pr.State == forge.Open && pr.SHA != j.Published.Hash {
		row.Reason = foreignHead(pr, j)
	} else if client != nil && pr.State == forge.Open {
		row.Reason = pr.Blocked
	}
	return row
}

// foreignHead describes a head that is not the commit that the run has pushed.
func foreignHead(pr forge.PullRequest, j report.Job) string {
	return fmt.Sprintf("its head is at %.10s, but the run pushed %.10s", pr.SHA, j.Published.Hash)
}

// print prints the rows, and returns the error with their exit code.
func (r *publishedRun) print(ctx context.Context, asJSON bool, rows []pullRow) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exits []event.Exit
	for _, row := range rows {
		exits = append(exits, row.exit)
	}
	write := r.printTable
	if asJSON {
		write = func(rows []pullRow) error {
			return writeJSON(r.world.Out, struct {
				Run  string    `json:"run"`
				Jobs []pullRow `json:"jobs"`
			}{r.id, rows})
		}
	}
	if err := write(rows); err != nil {
		return err
	}
	return fault.Silent(event.Worst(exits))
}

func (r *publishedRun) printTable(rows []pullRow) error {
	t := tabwriter.NewWriter(r.world.Out, 0, 0, 2, ' ', 0)
	header := []string{"JOB", "REPO", "PR", "STATE", "CHECKS", "MERGEABLE", "URL"}
	for _, row := range rows {
		if row.Result != "" {
			header = append(header[:2:2], "PR", "RESULT", "URL")
			break
		}
	}
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, row := range rows {
		cells := []string{row.Job, row.Repo}
		if row.Result != "" {
			cells = append(cells, numberOf(row.PullRequest), row.Result, urlOf(row.PullRequest))
		} else {
			cells = append(cells, stateCells(row.PullRequest)...)
		}
		for i, cell := range cells {
			cells[i] = printable.Line(cell, printable.Width)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range rows { // too long for the table
		if row.Reason != "" {
			if _, err := fmt.Fprintf(r.world.Out, "%s: %s\n", printable.Line(row.Job, printable.Width), printable.Line(row.Reason, 1000)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateCells returns the cells of a pull request.
func stateCells(p *pullState) []string {
	if p == nil {
		return []string{"-", "-", "-", "-", "-"}
	}
	state, mergeable := string(p.State), p.Mergeable
	if p.Draft {
		state += " (draft)"
	}
	switch {
	case p.State != forge.Open:
		mergeable = "-"
	case p.Conflicts && p.Mergeable != string(forge.CannotMerge):
		mergeable = "no (conflicts), or checking"
	case p.Conflicts:
		mergeable = "no (conflicts)"
	}
	return []string{numberOf(p), state, p.Checks, mergeable, p.URL}
}

func numberOf(p *pullState) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(p.Number)
}

func urlOf(p *pullState) string {
	if p == nil {
		return "-"
	}
	return p.URL
}
