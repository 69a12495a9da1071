package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/distill"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/pulls/manage"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// distillOptions are the options of "millhand distill".
type distillOptions struct {
	run     string // id or directory of the run with the accepted patches
	task    string
	patches []string // files; none for all jobs that passed
	merged  bool
	script  string // file that is checked instead of asking a model; "" for none
	output  string // "" for the task's id
	jobs    int
	opts    runs.Options
}

func distillCommand(w world.World) *cli.Command {
	o := &distillOptions{opts: *runs.New()}
	flags := []cli.Flag{
		&cli.StringFlag{Name: "task", Destination: &o.task, EnvVars: noVariable(), DefaultText: "the only one", Usage: "Use the jobs of task `ID`"},
		&cli.GenericFlag{Name: "patch", Value: (*option.Texts)(&o.patches), EnvVars: noVariable(), DefaultText: "of all jobs that passed", Usage: "Accept only the patch `FILE`, named after its job as in the report directory (repeatable)"},
		&cli.BoolFlag{Name: "merged", Destination: &o.merged, EnvVars: noVariable(), Usage: "Accept only the patches whose pull requests are merged"},
		&cli.StringFlag{Name: "script", Destination: &o.script, EnvVars: noVariable(), Usage: "Check the script in `FILE` instead of asking a model for one"},
		&cli.StringFlag{Name: "output", Destination: &o.output, EnvVars: noVariable(), DefaultText: "the task's id", Usage: "Write the script to `FILE`, with the extension of its language"},
		&cli.StringFlag{Name: "model", Destination: &o.opts.Plan.Model, EnvVars: noVariable(), DefaultText: "that of the task", Usage: "Ask `MODEL`"},
		&cli.GenericFlag{Name: "max-cost", Value: option.Of(&o.opts.Plan.MaxCost, option.Dollars), EnvVars: noVariable(), DefaultText: "that of the run", Usage: "Limit the cost to `USD` (US dollars)"},
		&cli.GenericFlag{Name: "jobs", Value: option.Of(&o.jobs, option.AtLeastOne), EnvVars: noVariable(), DefaultText: "that of the run", Usage: "Try the script in up to `N` repositories in parallel"},
		&cli.StringFlag{Name: "report-dir", Destination: &o.opts.ReportDir, EnvVars: noVariable(), DefaultText: ".millhand/runs/RUN-ID", Usage: "Write the reports into `DIR`"},
	}
	return &cli.Command{
		Name: "distill", Usage: "Make a script of the accepted patches of a task", ArgsUsage: "RUN",
		Description: "Ask a model once, without permission to change anything, for a script that makes the change of a run's accepted patches. The script is accepted only if it makes the accepted change in at least three jobs whose patches the model did not get, and a wrong one in none. It is written for people to review and commit, and used by the key script of a task.",
		UsageText:   "millhand distill 20260102-030405-1a2b3c4d --task ioutil --output scripts/ioutil\nmillhand distill 20260102-030405-1a2b3c4d --task ioutil --script scripts/ioutil.sh",
		Flags:       append(flags, flagsOf(o.opts.LogFields())...),
		Action:      act(o.parse, func(ctx context.Context) error { return distillRun(ctx, w, *o) }),
	}
}

func (o *distillOptions) parse(args []string) error {
	switch {
	case len(args) != 1:
		return errors.New("requires one RUN, the id or the report directory of a run")
	case o.script != "" && o.output != "":
		return errors.New("--output can't be combined with --script, which writes no script")
	case o.merged && len(o.patches) > 0:
		return errors.New("--merged can't be combined with --patch: name the merged patches")
	}
	o.run = args[0]
	if o.opts.Verbose {
		o.opts.Log.Level = "debug"
	}
	for _, path := range append([]*string{&o.script, &o.output, &o.opts.ReportDir}, pointers(o.patches)...) {
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

// distillery makes and checks one script.
type distillery struct {
	world    world.World
	given    distillOptions
	options  runs.Options // of the run with the patches, with those given
	dir      string       // of that run
	examples []distill.Example

	file    string // that the script is written to
	script  *tasks.TaskScript
	reports string // directory of the session's report, or of the trial's without a session
	result  distillation
}

// distillRun asks for a script, checks it, and writes it if it is accepted.
func distillRun(ctx context.Context, w world.World, o distillOptions) error {
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
	saved, err := savedrun.Load(d.given.run)
	if err != nil {
		return err
	}
	if d.dir, err = filepath.Abs(saved.Dir); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	if err := d.chooseTask(saved.Report.Jobs); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	jobs := distill.Candidates(saved.Report.Jobs, d.given.task)
	if d.given.merged {
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
	case d.given.task == "" && len(names) == 1:
		d.given.task = names[0]
	case d.given.task == "":
		return fmt.Errorf("the run has %d tasks: choose one with --task: %s", len(names), strings.Join(names[:min(len(names), runs.MaxNames)], ", "))
	case !slices.Contains(names, d.given.task):
		return fmt.Errorf("task %q not found in the run; it has %s", d.given.task, strings.Join(names[:min(len(names), runs.MaxNames)], ", "))
	}
	return nil
}

// accepted returns the examples: those that --patch names, or all.
func (d *distillery) accepted(jobs []report.Job) ([]distill.Example, error) {
	given := map[string]string{}
	for _, file := range d.given.patches {
		job := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !slices.ContainsFunc(jobs, func(j report.Job) bool { return j.ID == job }) {
			return nil, fmt.Errorf("--patch %s: %s is no job of task %s that passed with changes", file, job, d.given.task)
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
		return nil, fmt.Errorf("task %s has too few accepted patches (%d): a script needs one to be made from, and %d to be tried with", d.given.task, len(all), distill.Least)
	}
	return divided, nil
}

// load sets the options of the run, and changes to the directory that it was started in.
func (d *distillery) load(past *history.Past) error {
	o := *runs.New()
	g := d.given
	o.Plan.MaxCost, o.Plan.Parallel, o.Log, o.JSON = g.opts.Plan.MaxCost, g.jobs, g.opts.Log, g.opts.JSON
	o, err := runs.Resumed(o, past.Run)
	if err != nil {
		return fault.New(event.ExitUsage, "distill %s: %w; nothing was run", d.dir, err)
	}
	if o.Prompt.Text != nil {
		return fault.New(event.ExitUsage, "distill %s: the run has no manifest, whose task could use a script; nothing was run", d.dir)
	}
	o.Plan.Sources.Only = false // another task may have changed
	o.Plan.Only, o.Plan.Limit, o.Plan.Sample, o.Plan.Shard = nil, 0, 0, tasks.Shard{}
	o.Record, o.NoBaseline, o.MaxFailures, o.FailOn = "", true, 0, ""
	if g.opts.Plan.Model != "" {
		o.Plan.Model = g.opts.Plan.Model
	}
	d.options = o
	return d.checkOutput()
}

// checkOutput refuses an output that exists, before anything is paid for.
func (d *distillery) checkOutput() error {
	if d.file = d.given.output; d.file == "" {
		d.file = d.given.task
	}
	if err := makeAbsolute(&d.file); err != nil || d.given.script != "" {
		return err
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
