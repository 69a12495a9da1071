// Package replay plays the model of a saved run against this version: tools, rules and verify commands are real.
// It writes a script, in the format that internal/model/script reads, of the responses in the run's journals, starts the run again with it
// (package runs, or sessions for a fork), and compares what becomes of each job with what the run has saved. For a job
// that changed the user's own tree, it makes a repository with the files that the job has started from (package gitops). It
// does not use recordings (internal/model/replay), publishes nothing, and calls no model.
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
	"github.com/millhand/millhand/internal/app/sessions"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/gitdir"
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
	set := &replayed{was: was, scripts: scripts, git: w.GitEnv(), left: map[string]string{}}
	own.Change, own.Resume, own.Replay, own.Record, own.Invocation = set.change, "", "", "", o.Invocation
	own.Plan.Run, own.JSON, own.Log, own.Keep = "", false, o.Log, false
	own.Log.Quiet = true
	if own.ReportDir = o.ReportDir; own.ReportDir == "" {
		own.ReportDir = filepath.Join(".millhand", "runs", load.NewRunID(w))
	}
	quiet := w
	quiet.Out = io.Discard
	again := func() error { return runs.Run(ctx, quiet, own) }
	if past.ForkedFrom() != nil {
		again = func() error { return sessions.ForkAgain(ctx, quiet, own, past, dir) }
	}
	failed := again()
	if kind := (fault.Error{}); failed != nil && (!errors.As(failed, &kind) || kind.Err != nil) {
		return failed // not the outcome of jobs
	}
	ended, _, err := savedrun.Past(own.ReportDir)
	if err != nil {
		return err
	}
	now, err := open(own.ReportDir, ended)
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
	scripts *files.Dir // of their models, and repositories
	git     gitdir.Env
	ids     []string          // of jobs
	left    map[string]string // jobs that are left out, with the reason
}

// change returns the plan with the jobs that have a conversation, each on the commit that it started from.
func (r *replayed) change(ctx context.Context, plan *tasks.Plan) (*tasks.Plan, error) {
	for _, j := range r.was.run.Report.Jobs {
		r.left[j.ID] = "it is not in the plan any more"
	}
	var jobs []tasks.Job
	for _, j := range plan.Jobs {
		with, why := r.replay(ctx, j)
		if why != "" {
			r.left[j.ID] = why
			continue
		}
		delete(r.left, j.ID)
		jobs, r.ids = append(jobs, j.Replayed(with)), append(r.ids, j.ID)
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

// print prints what differs. The error has exit code 1 if anything does, or if a job that a model has worked on is left out.
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
	left := 0
	for _, j := range r.was.run.Report.Jobs {
		if why := r.left[j.ID]; why != "" {
			fmt.Fprintln(out, printable.Text(fmt.Sprintf("%s: not replayed: %s", j.ID, why)))
			if why != noConversation {
				left++
			}
		}
	}
	fmt.Fprintf(out, "%d of %s replayed, %d different; reports: %s\n", len(r.ids), figures.Count(len(r.was.run.Report.Jobs), "job"), different, now.run.Dir)
	if different+left > 0 {
		return fault.Silent(event.ExitFailed)
	}
	return nil
}

// maxShown is the maximum number of differences of a job that are printed.
const maxShown = 20
