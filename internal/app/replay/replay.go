// Package replay plays the model of a saved run against this version: tools, rules and verify commands are real, and what
// becomes of each job is compared with what the run has saved. It publishes nothing, and calls no model.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// Run replays a run and prints the differences. The error has exit code 1 if there are any.
func Run(ctx context.Context, w world.World, o invocation.Options) error {
	past, dir, err := savedrun.Past(o.Replay)
	if err != nil {
		return err
	}
	own, err := invocation.Resumed(o, past.Run)
	if err != nil {
		return fault.New(event.ExitUsage, "replay %s: %w; nothing was run", dir, err)
	}
	scripts, err := files.MakeTemp(w.Getenv("TMPDIR"), "millhand-replay-")
	if err != nil {
		return fault.Wrap(event.ExitInternal, err)
	}
	defer os.RemoveAll(scripts.Path())
	defer scripts.Close()
	was, err := open(dir, past)
	if err != nil {
		return err
	}
	set := &replayed{was: was, scripts: scripts, left: map[string]string{}}
	own.Change, own.Resume, own.Replay, own.Record, own.Invocation = set.change, "", "", "", o.Invocation
	own.Plan.Run, own.JSON, own.Log, own.Keep = "", false, o.Log, false
	own.Log.Quiet = true
	if own.ReportDir = o.ReportDir; own.ReportDir == "" {
		own.ReportDir = filepath.Join(".millhand", "runs", load.NewRunID(w))
	}
	quiet := w
	quiet.Out = io.Discard
	failed := runs.Run(ctx, quiet, own)
	if kind := (fault.Error{}); failed != nil && (!errors.As(failed, &kind) || kind.Err != nil) {
		return failed // not the outcome of jobs
	}
	again, _, err := savedrun.Past(own.ReportDir)
	if err != nil {
		return err
	}
	now, err := open(own.ReportDir, again)
	if err != nil {
		return err
	}
	return set.print(w.Out, now)
}

// recorded is a run with its reports.
type recorded struct {
	past *history.Past
	run  *savedrun.Run
}

func open(dir string, past *history.Past) (recorded, error) {
	run, err := savedrun.Load(dir)
	return recorded{past, run}, err
}

// replayed are the jobs of a replay.
type replayed struct {
	was     recorded
	scripts *files.Dir        // of their models
	ids     []string          // of jobs
	left    map[string]string // jobs that are left out, with the reason
}

// change returns the plan with the jobs that have a conversation, each on the commit that it started from.
func (r *replayed) change(_ context.Context, plan *tasks.Plan) (*tasks.Plan, error) {
	var jobs []tasks.Job
	for _, j := range plan.Jobs {
		file, why := r.script(j.ID)
		if j.Review != nil && why == "" {
			why = "its changes are reviewed, by a model that is not replayed"
		}
		if why != "" {
			r.left[j.ID] = why
			continue
		}
		jobs, r.ids = append(jobs, j.Replayed(file, r.was.past.Job(j.ID).First)), append(r.ids, j.ID)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no job of run %s can be replayed%s", r.was.past.Run.ID, r.reasons())
	}
	return plan.Replayed(jobs), nil
}

func (r *replayed) reasons() (text string) {
	for _, j := range r.was.run.Report.Jobs {
		if why := r.left[j.ID]; why != "" {
			text += fmt.Sprintf("\n  %s: %s", j.ID, why)
		}
	}
	return text
}

// print prints what differs. The error has exit code 1 if anything does.
func (r *replayed) print(out io.Writer, now recorded) error {
	different := 0
	fmt.Fprintf(out, "replay of run %s (version %s) with version %s\n", printable.Line(r.was.past.Run.ID, printable.Width), printable.Line(r.was.past.Run.Version, printable.Width), now.past.Run.Version)
	for _, id := range r.ids {
		list := r.compare(id, now)
		result := "equal"
		if len(list) > 0 {
			different++
			result = figures.Count(len(list), "difference")
		}
		fmt.Fprintf(out, "%s: %s\n", id, result)
		for i, d := range list {
			if i == maxShown {
				fmt.Fprintf(out, "  and %d more\n", len(list)-i)
				break
			}
			fmt.Fprintln(out, printable.Text("  "+d))
		}
	}
	for _, j := range r.was.run.Report.Jobs {
		if why := r.left[j.ID]; why != "" {
			fmt.Fprintf(out, "%s: not replayed: %s\n", j.ID, why)
		}
	}
	fmt.Fprintf(out, "%d of %s replayed, %d different; reports: %s\n", len(r.ids), figures.Count(len(r.was.run.Report.Jobs), "job"), different, now.run.Dir)
	if different > 0 {
		return fault.Silent(event.ExitFailed)
	}
	return nil
}

// maxShown is the maximum number of differences of a job that are printed.
const maxShown = 20
