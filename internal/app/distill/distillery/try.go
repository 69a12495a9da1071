package distillery

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/distill"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/result"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// distillation is the result of millhand distill, the file distill.json in its report
// directory.
type distillation struct {
	Run      string          `json:"run"` // that has the accepted patches
	Task     string          `json:"task"`
	Language string          `json:"language"` // empty for --script
	About    string          `json:"about"`    // likewise
	SHA256   string          `json:"sha256"`   // of the script
	Script   string          `json:"script"`   // its file, relative to the report directory
	Examples []string        `json:"examples"` // jobs whose patches the model got
	Trials   []distill.Trial `json:"trials"`   // of the examples and of the jobs that were held out
	CostUSD  *money.USD      `json:"cost_usd"` // of the session; null if unknown
	distill.Verdict
	File string `json:"file"` // that the script was written to; empty if it is not accepted
}

// makeScript runs the session that writes the script, or reads that of --script.
func (d *distillery) makeScript(ctx context.Context) error {
	d.result = distillation{Run: filepath.Base(d.dir), Task: d.given.Task, Examples: []string{}, CostUSD: new(money.USD)}
	if file := d.given.Script; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return fault.Wrap(event.ExitUsage, err)
		}
		d.script = tasks.NewTaskScript(filepath.Base(file), data)
		for i := range d.examples {
			d.examples[i].HeldOut = true // the script was not made from them here
		}
		return nil
	}
	rep, err := d.execute(ctx, d.options, d.given.Of.ReportDir, d.askFor)
	if err != nil {
		return err
	}
	d.result.CostUSD = rep.Run.Totals.CostUSD
	if rep.Jobs[0].Outcome != event.Passed {
		if !d.given.Of.JSON {
			result.Text(d.world, rep, d.reports)
		}
		return fault.Silent(rep.Run.ExitCode)
	}
	response, err := distill.Parse(rep.Jobs[0].Output)
	if err != nil {
		return fault.Wrap(event.ExitFailed, err)
	}
	d.file = response.File(d.file)
	d.script = tasks.NewTaskScript(filepath.Base(d.file), []byte(response.Text))
	d.result.Language, d.result.About = response.Language, response.About
	return nil
}

// askFor returns a plan whose only job asks for the script, in the repository of the first example.
func (d *distillery) askFor(ctx context.Context, plan *tasks.Plan) (*tasks.Plan, error) {
	first := d.examples[0]
	at := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == first.Job })
	if at < 0 {
		return nil, fmt.Errorf("job %s of the run is not in its manifest any more", first.Job)
	}
	opts, err := load.TaskOptions(ctx, d.world, d.options.Plan.PolicyOptions)
	if err != nil {
		return nil, err
	}
	readonly, err := manifest.LoadProfile(ctx, "readonly", "", opts)
	if err != nil {
		return nil, err
	}
	j := plan.Jobs[at].OnBase(first.Base, branch)
	var verify []string
	for _, v := range j.Verify {
		verify = append(verify, v.Run)
	}
	return plan.Question(j.Asking("distill", distill.Prompt(j.Prompt, verify, d.examples), distill.Schema(), readonly.Under(j.Profile))), nil
}

// branch is that of jobs on the bases of accepted patches.
const branch = tasks.BranchPrefix + "distill"

// try runs the script, and only it, on the bases of the examples.
func (d *distillery) try(ctx context.Context) error {
	o := d.options
	o.FailOn = event.FailOnNever
	dir := d.given.Of.ReportDir
	if d.reports != "" {
		dir = filepath.Join(d.reports, "trial")
	}
	main := d.reports
	rep, err := d.execute(ctx, o, dir, func(_ context.Context, plan *tasks.Plan) (*tasks.Plan, error) { return d.tryIn(plan) })
	if err != nil {
		return err
	}
	if rep.Run.ExitCode == event.ExitInterrupt || rep.Run.ExitCode == event.ExitTerminate {
		return fault.Silent(rep.Run.ExitCode)
	}
	saved := os.DirFS(d.reports)
	for _, e := range d.examples {
		at := slices.IndexFunc(rep.Jobs, func(j report.Job) bool { return j.ID == e.Job })
		j := rep.Jobs[at]
		d.result.Trials = append(d.result.Trials, distill.Judge(e, j, []byte(rundir.Patch(saved, &j))))
		if !e.HeldOut {
			d.result.Examples = append(d.result.Examples, e.Job)
		}
	}
	if main != "" {
		d.reports = main
	}
	d.result.Verdict = distill.Decide(d.result.Trials)
	return nil
}

// tryIn returns a plan with the jobs of the examples, which run only the script.
func (d *distillery) tryIn(plan *tasks.Plan) (*tasks.Plan, error) {
	var jobs []tasks.Job
	for _, e := range d.examples {
		at := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == e.Job })
		if at < 0 {
			return nil, fmt.Errorf("job %s of the run is not in its manifest any more", e.Job)
		}
		jobs = append(jobs, plan.Jobs[at].RunningOnly(*d.script).OnBase(e.Base, branch))
	}
	return plan.Trial(jobs), nil
}

// execute runs the plan that change returns, and returns its report.
func (d *distillery) execute(ctx context.Context, o invocation.Options, dir string, change func(context.Context, *tasks.Plan) (*tasks.Plan, error)) (*report.Report, error) {
	log, err := view.New(d.world.Err, o.Log, d.world.Getenv)
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	o.Plan.Only, o.Plan.NoRollout = []string{d.given.Task}, true
	o.Change = change
	c, err := checks.Run(ctx, d.world, o)
	defer c.Settle()
	if err != nil {
		return nil, err
	}
	id := load.NewRunID(d.world)
	var rep *report.Report
	err = runs.Start(ctx, d.world, o, c, runs.Starting{
		ID: id, Log: log,
		Claim: func() (*rundir.Dir, error) { return rundir.Claim(ctx, o.Plan.In(d.world), dir, id, d.world.Clock()) },
		Print: func(_ world.World, r *report.Report, at string) { rep, d.reports = r, at },
	})
	if rep == nil || len(rep.Jobs) == 0 || fault.ExitOf(err) == event.ExitInternal {
		return nil, err
	}
	return rep, nil
}

// finish saves the script and the result, and prints the result.
func (d *distillery) finish() error {
	r := &d.result
	r.SHA256, r.Script = d.script.SHA256, "distilled"+filepath.Ext(d.script.File) // no name of a report
	reports, err := files.Open(d.reports)
	if err != nil {
		return fault.Wrap(event.ExitInternal, err)
	}
	defer reports.Close()
	if err := reports.Write(r.Script, []byte(d.script.Text), 0o600); err != nil {
		return fault.Wrap(event.ExitInternal, err)
	}
	if r.Accepted && d.given.Script == "" {
		if err := d.writeScript(); err != nil {
			return fault.Wrap(event.ExitUsage, err)
		}
		r.File = d.file
	}
	if err := reports.WriteAtomic("distill.json", func(out io.Writer) error { return printable.WriteJSON(out, r) }); err != nil {
		return fault.Wrap(event.ExitInternal, err)
	}
	if d.given.Of.JSON {
		err = printable.WriteJSON(d.world.Out, r)
	} else {
		err = d.print(d.world.Out)
	}
	if err == nil && !r.Accepted {
		return fault.Silent(event.ExitFailed)
	}
	return err
}

// writeScript writes the accepted script to a file that does not exist.
func (d *distillery) writeScript() error {
	dir, err := files.MakeOwn(filepath.Dir(d.file), 0o755)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.WriteNew(filepath.Base(d.file), []byte(d.script.Text))
}

// print prints the result for people.
func (d *distillery) print(out io.Writer) error {
	r := &d.result
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RESULT\tJOB\tREPO\tPATCH\tREASON")
	for _, tr := range r.Trials {
		patch := "example"
		if tr.HeldOut {
			patch = "held out"
		}
		reason := "-"
		if tr.Reason != "" {
			reason = printable.Line(tr.Reason, printable.Width)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", tr.Result, printable.Line(tr.Job, printable.Width), printable.Line(tr.Repo, printable.Width), patch, reason)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := "not accepted: " + r.Reason
	if r.Accepted {
		verdict = "accepted"
	}
	fmt.Fprintf(out, "\nscript %s: %s; %s, cost %s\n", printable.Line(d.script.File, printable.Width), printable.Line(verdict, 1000), figures.Count(len(r.Trials), "trial"), money.Rounded(r.CostUSD))
	if r.About != "" {
		fmt.Fprintf(out, "%s\n", printable.Text(r.About))
	}
	if r.File != "" {
		fmt.Fprintf(out, "wrote %s: read it, commit it next to the manifest, and set script: of task %s\n", printable.Text(r.File), r.Task)
	}
	_, err := fmt.Fprintf(out, "reports: %s\n", printable.Text(d.reports))
	return err
}
