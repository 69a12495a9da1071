package distillery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/distill"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/pulls/manage"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// Options select the accepted patches, and say where the script goes. All paths are absolute.
type Options struct {
	Run      string // id or directory of the run with the accepted patches
	Task     string
	Patches  []string // files; none for all jobs that passed
	Merged   bool
	Script   string // file that is checked instead of asking a model; "" for none
	Output   string // "" for the task's id
	Parallel int
	Of       invocation.Options // of the session and the trial
}

// distillery makes and checks one script.
type distillery struct {
	world    world.World
	given    Options
	options  invocation.Options // of the run with the patches, with those given
	dir      string             // of that run
	examples []distill.Example

	file    string // that the script is written to
	script  *tasks.TaskScript
	reports string // directory of the session's report, or of the trial's without a session
	result  distillation
}

// Run asks for a script, checks it, and writes it if it is accepted.
func Run(ctx context.Context, w world.World, o Options) error {
	d := &distillery{world: w, given: o}
	if err := d.open(ctx); err != nil {
		return err
	}
	if err := d.makeScript(ctx); err != nil {
		return err
	}
	if err := d.try(ctx); err != nil {
		return err
	}
	return d.finish()
}

// open finds the accepted patches and loads the plan of their run.
func (d *distillery) open(ctx context.Context) error {
	saved, err := savedrun.Load(d.given.Run)
	if err != nil {
		return err
	}
	if d.dir, err = filepath.Abs(saved.Dir); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	if err := d.chooseTask(saved.Report.Jobs); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	jobs := distill.Candidates(saved.Report.Jobs, d.given.Task)
	if d.given.Merged {
		if jobs, err = mergedJobs(ctx, d.world, d.dir, jobs); err != nil {
			return err
		}
	}
	if d.examples, err = d.accepted(jobs); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	past, _, err := savedrun.Past(d.dir)
	if err != nil {
		return err
	}
	return d.load(past)
}

// chooseTask sets the task if the run has only one.
func (d *distillery) chooseTask(jobs []report.Job) error {
	var names []string
	for _, j := range jobs {
		if !slices.Contains(names, j.Task) {
			names = append(names, j.Task)
		}
	}
	switch {
	case d.given.Task == "" && len(names) == 1:
		d.given.Task = names[0]
	case d.given.Task == "":
		return fmt.Errorf("the run has %d tasks: choose one with --task: %s", len(names), strings.Join(names[:min(len(names), savedrun.MaxNames)], ", "))
	case !slices.Contains(names, d.given.Task):
		return fmt.Errorf("task %q not found in the run; it has %s", d.given.Task, strings.Join(names[:min(len(names), savedrun.MaxNames)], ", "))
	}
	return nil
}

// accepted returns the examples: those that --patch names, or all.
func (d *distillery) accepted(jobs []report.Job) ([]distill.Example, error) {
	given := map[string]string{}
	for _, file := range d.given.Patches {
		job := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !slices.ContainsFunc(jobs, func(j report.Job) bool { return j.ID == job }) {
			return nil, fmt.Errorf("--patch %s: %s is no job of task %s that passed with changes", file, job, d.given.Task)
		}
		given[job] = file
	}
	var all []distill.Example
	for _, j := range jobs {
		file, named := given[j.ID]
		if len(given) > 0 && !named {
			continue
		}
		read := func() ([]byte, error) { return os.ReadFile(file) }
		if !named { // a name of the run, which may be somebody else's
			read = func() ([]byte, error) { return files.ReadIn(d.dir, j.Patch) }
		}
		patch, err := read()
		if err != nil {
			return nil, fmt.Errorf("read the patch of job %s: %w", j.ID, err)
		}
		all = append(all, distill.Example{Job: j.ID, Repo: j.Repo, Base: j.Base.Commit, Patch: patch})
	}
	divided := distill.Divide(all)
	if divided == nil {
		return nil, fmt.Errorf("task %s has too few accepted patches (%d): a script needs one to be made from, and %d to be tried with", d.given.Task, len(all), distill.Least)
	}
	return divided, nil
}

// load sets the options of the run.
func (d *distillery) load(past *history.Past) error {
	o := *invocation.New()
	g := d.given
	o.Plan.MaxCost, o.Plan.Parallel, o.Log, o.JSON = g.Of.Plan.MaxCost, g.Parallel, g.Of.Log, g.Of.JSON
	o, err := invocation.Resumed(o, past.Run)
	if err != nil {
		return fault.New(event.ExitUsage, "distill %s: %w; nothing was run", d.dir, err)
	}
	if o.Prompt.Text != nil {
		return fault.New(event.ExitUsage, "distill %s: the run has no manifest, whose task could use a script; nothing was run", d.dir)
	}
	o.Plan.Sources.Only = false // another task may have changed
	o.Plan.Only, o.Plan.Limit, o.Plan.Sample, o.Plan.Shard = nil, 0, 0, tasks.Shard{}
	o.Record, o.NoBaseline, o.MaxFailures, o.FailOn = "", true, 0, ""
	if g.Of.Plan.Model != "" {
		o.Plan.Model = g.Of.Plan.Model
	}
	d.options = o
	return d.checkOutput()
}

// checkOutput refuses an output that exists, before anything is paid for.
func (d *distillery) checkOutput() error {
	if d.file = d.given.Output; d.file == "" {
		d.file = d.given.Task
	}
	if d.file = userfile.Resolve(d.options.Plan.In(d.world), d.file); d.given.Script != "" {
		return nil
	}
	for _, l := range tasks.ScriptLanguages() {
		file := distill.Script{Language: l.Name}.File(d.file)
		if _, err := os.Lstat(file); err == nil {
			return fault.New(event.ExitUsage, "%s exists: remove it, or set --output FILE; nothing was run", file)
		}
	}
	return nil
}

// mergedJobs returns the jobs whose pull requests are merged.
func mergedJobs(ctx context.Context, w world.World, dir string, jobs []report.Job) ([]report.Job, error) {
	given := manage.Options{Run: dir}
	for _, j := range jobs {
		if j.PullRequest != nil {
			given.Jobs = append(given.Jobs, j.ID)
		}
	}
	if len(given.Jobs) == 0 {
		return nil, nil
	}
	r, err := manage.Open(ctx, w, given, pulls.Order{})
	if err != nil {
		return nil, err
	}
	merged := map[string]bool{}
	for _, row := range r.Do(ctx) {
		if row.PullRequest == nil {
			return nil, fault.New(event.ExitPublish, "job %s: %s", row.Job, row.Reason)
		}
		merged[row.Job] = row.PullRequest.State == forge.Merged
	}
	return slices.DeleteFunc(jobs, func(j report.Job) bool { return !merged[j.ID] }), nil
}
