package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/exitcode"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

type showOptions struct {
	plan   load.Options
	format string   // table, json or github-matrix
	shards int      // of a matrix; 0 for one per job
	check  bool     // contact remotes, and fail if a job would be refused
	after  []string // saved runs whose jobs are done
}

func planCommand(w world.World) *cli.Command {
	o := &showOptions{}
	return &cli.Command{
		Name: "plan", Usage: "Show the planned jobs without running them", ArgsUsage: "[MANIFEST...]",
		Description: "Show the jobs of manifests, and which of them would be skipped or refused.\nNothing is run.\n" + load.OrUsual,
		UsageText:   "millhand plan millhand.yaml\nmillhand plan --check millhand.yaml\nmillhand plan --format github-matrix --shards 4 millhand.yaml",
		Flags: append(flagsOf(o.plan.JobFields()),
			&cli.StringFlag{Name: "format", Category: option.Outputs, Destination: &o.format, Value: "table", Usage: "Print in `FORMAT`: table, json or github-matrix"},
			&cli.GenericFlag{Name: "shards", Category: option.Outputs, Value: option.Of(&o.shards, option.AtLeastOne), DefaultText: "one for each job, up to 256", Usage: "Split the plan into `N` shards, for --format github-matrix"},
			flagOf(runs.AfterField(&o.after, "Forecast the cost of the jobs that `RUN`, a report directory or id, has not finished (repeatable)")),
			&cli.BoolFlag{Name: "check", Category: option.Outputs, Destination: &o.check, Usage: "Fetch remote repositories too, and exit with code 2 if a job would be refused"},
		),
		Action: act(o.parse, checks(func(ctx context.Context) error { return showPlan(ctx, w, *o) })),
	}
}

func (o *showOptions) parse(args []string) error {
	if !slices.Contains([]string{"table", "json", "github-matrix"}, o.format) {
		return fmt.Errorf("unknown plan format %q: use table, json or github-matrix", o.format)
	}
	if o.shards > maxMatrix {
		return fmt.Errorf("--shards %d: must be from 1 to %d", o.shards, maxMatrix)
	}
	o.plan.Paths = []load.Path{{Flag: "--sources", Path: o.plan.Sources.File}}
	return o.plan.Parse("plan", args)
}

func showPlan(ctx context.Context, w world.World, o showOptions) error {
	plan, err := load.Listed(ctx, w, o.plan, false)
	if err != nil {
		return err
	}
	printNotes(w, plan)
	proposeSetup(w, plan)
	if o.format == "github-matrix" {
		return githubMatrix(w, plan, o.shards)
	}
	waves, err := plannedWaves(ctx, w, o, plan)
	if err != nil {
		return err
	}
	notes, setups, refused, err := outlook(ctx, w, waves.next(plan), !o.check)
	if err != nil {
		return err
	}
	waves.note(notes)
	if o.format == "json" {
		doc := planJSON(plan, planned.Extensions(plan, w.Getenv), notes, setups, models.New(plan, w.Getenv, w.Now, w.Proxy, pricetable.Saved(w)))
		waves.describe(&doc)
		err = printable.WriteJSON(w.Out, doc)
	} else if err = planTable(w.Out, plan, notes, models.New(plan, w.Getenv, w.Now, w.Proxy, pricetable.Saved(w))); err == nil {
		err = waves.print(w.Out)
		load.PrintSources(w.Out, plan)
		printScripts(w.Out, plan)
		err = errors.Join(err, planned.PrintExtensions(w.Out, planned.Extensions(plan, w.Getenv)), planned.PrintGrants(w.Out, plan.Grants()), printSetups(w.Out, plan, setups))
	}
	failing := 0
	for _, n := range notes {
		if n.Action == "fail" {
			failing++
		}
	}
	switch {
	case err != nil || !o.check:
		return err
	case refused > 0:
		return fault.New(event.ExitUsage, "%s would be refused", figures.Count(refused, "job"))
	case failing > 0:
		return fault.New(event.ExitUsage, "%s would fail immediately", figures.Count(failing, "job"))
	}
	return nil
}

// note is the reason why a planned job would not start. The zero value means that it runs.
type note struct {
	Action string `json:"action"` // skip, refuse, fail, or push the commit of an earlier run
	Reason string `json:"reason"`
	Code   string `json:"code"`

	asked bool // the remote was contacted
}

func (n note) String() string {
	if n.Action == "" {
		return "-"
	}
	return n.Action + ": " + n.Reason
}

// runs reports whether a job with this note may run.
func (n note) runs(j tasks.Job) bool {
	appends := n.Action == "push" && !n.asked && j.Commit.IfExists == tasks.AppendIfExists // it runs if the remote has the branch
	return n.Action == "" || appends
}

// maxCost returns the maximum cost of a job, in USD; nil for no limit.
func maxCost(m *models.Set, j tasks.Job, n note) *money.USD {
	if !n.runs(j) {
		return new(money.USD)
	}
	return m.MaxCost(j)
}

// maxRunCost returns the maximum cost of the run, in USD; nil for no limit.
func maxRunCost(m *models.Set, notes map[string]note) *money.USD {
	return m.MaxRunCost(func(j tasks.Job) bool { return notes[j.ID].runs(j) })
}

// outlook determines which jobs would not run, what setup commands may reach, and the
// number of jobs for which the run would be refused. With local it contacts no remote.
func outlook(ctx context.Context, w world.World, plan *tasks.Plan, local bool) (notes map[string]note, setups map[string]setupNote, refused int, err error) {
	known := w.Redactor(plan)
	hosts := forges.Hosts(w, plan, known.Hold)
	at := runs.Look(w, hosts)
	at.Forge = (&forges.Clients{World: w, Hosts: hosts}).Open
	at.Local = local
	ready, err := preflight.Check(ctx, plan, at)
	if ctx.Err() != nil {
		return nil, nil, 0, fault.Wrap(exitcode.Of(context.Cause(ctx)), context.Cause(ctx))
	}
	refusals := preflight.Refusals(err)
	if err != nil && len(refusals) == 0 {
		return nil, nil, 0, fault.Wrap(event.ExitUsage, err)
	}
	notes = map[string]note{}
	for _, r := range refusals {
		notes[r.Job] = note{Action: "refuse", Reason: r.Err.Error(), Code: string(r.Code)}
		refused++
	}
	for _, j := range plan.Jobs {
		if c := ready.Earlier(j.ID); c.Hash != "" {
			notes[j.ID] = note{Action: "push", asked: !at.Local, Reason: fmt.Sprintf("branch %s (%.10s) of an earlier run, unless the remote has it", c.Branch, c.Hash)}
		}
		if s := ready.Skip(j.ID); s.Reason != "" {
			action := "skip"
			if s.Outcome != event.Skipped {
				action = "fail"
			}
			notes[j.ID] = note{Action: action, Reason: s.Reason, Code: string(s.Code)}
		}
	}
	return notes, setupNotes(ctx, w, plan, ready), refused, nil
}

func planTable(out io.Writer, plan *tasks.Plan, notes map[string]note, m *models.Set) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tREPO\tMODEL\tPROFILE\tBRANCH\tVERIFY\tNEEDS\tAT MOST\tNOTE")
	for _, j := range plan.Jobs {
		var checks []string
		for _, v := range j.Verify {
			checks = append(checks, v.Name)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			j.ID, j.Repo.Name, j.ModelName, j.Profile.Name, branchOf(j), dash(checks), dash(j.Needs), atMost(maxCost(m, j, notes[j.ID])), printable.Line(notes[j.ID].String(), 200))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	left := ""
	if len(notes) > 0 {
		left = fmt.Sprintf(", %d with a note", len(notes))
	}
	cost := "unlimited cost"
	if most := maxRunCost(m, notes); most != nil {
		cost = "maximum cost " + atMost(most)
	}
	_, err := fmt.Fprintf(out, "\n%s%s, %s, %d in parallel, plan %.12s\n", figures.Count(len(plan.Jobs), "job"), left, cost, plan.Parallel, plan.Hash)
	return err
}

// maxMatrix is the maximum number of jobs in a matrix of GitHub Actions.
const maxMatrix = 256

// githubMatrix prints the strategy.matrix of a workflow: one entry for each shard
// that has jobs.
func githubMatrix(w world.World, plan *tasks.Plan, total int) error {
	switch {
	case plan.Rollout != nil:
		return fault.New(event.ExitUsage, "--format github-matrix can't be combined with a rollout, whose waves are executed one after the other")
	case plan.Shard.Total > 0:
		return fault.New(event.ExitUsage, "--format github-matrix can't be combined with --shard: it splits the entire plan")
	case total == 0:
		total = max(1, min(len(plan.Jobs), maxMatrix))
	}
	type entry struct {
		Shard string `json:"shard"`
		Index int    `json:"index"`
		Total int    `json:"total"`
		Jobs  int    `json:"jobs"`
	}
	entries := make([]entry, total)
	for _, shard := range tasks.ShardOf(plan, total) {
		entries[shard-1].Jobs++
	}
	doc := struct {
		Include []entry `json:"include"`
	}{[]entry{}}
	for i, e := range entries {
		if e.Jobs > 0 {
			e.Shard, e.Index, e.Total = fmt.Sprintf("%d/%d", i+1, total), i+1, total
			doc.Include = append(doc.Include, e)
		}
	}
	line, err := json.Marshal(doc)
	if err != nil {
		return fault.New(event.ExitInternal, "encode the matrix: %w", err)
	}
	_, err = fmt.Fprintf(w.Out, "%s\n", printable.JSON(line))
	return err
}

func atMost(usd *money.USD) string {
	if usd == nil {
		return "unlimited"
	}
	return "$" + usd.String()
}

func branchOf(j tasks.Job) string {
	if j.Commit == nil {
		return "(not committed)"
	}
	return j.Commit.Branch
}

func dash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}

// The JSON form of a plan. Scripts of users depend on it.
type (
	planDocument struct {
		Name      string        `json:"name"`
		Manifests []string      `json:"manifest"`
		Hash      string        `json:"plan_hash"`
		Parallel  int           `json:"jobs_at_once"`
		MaxCost   *money.USD    `json:"max_cost_usd"` // of the run; null for no limit or an unknown price
		Jobs      []jobDocument `json:"jobs"`

		Extensions []planned.Extension `json:"extensions"`
		Sources    []event.Source      `json:"sources"` // of repositories, with what forges have listed

		Rollout  *waveDocument   `json:"rollout,omitempty"`  // absent without one
		Forecast *event.Forecast `json:"forecast,omitempty"` // absent without --after, and without a rollout
	}
	jobDocument struct {
		ID       string            `json:"id"`
		Task     string            `json:"task"`
		Repo     string            `json:"repo"`
		Matrix   map[string]string `json:"matrix"`
		Model    string            `json:"model"`
		Profile  string            `json:"profile"`
		Agent    string            `json:"agent"`
		Prompt   string            `json:"prompt"`
		Branch   *string           `json:"branch"`
		Setup    []string          `json:"setup"`
		Script   *string           `json:"script"`        // file of the script that runs before a session; null for none
		SetupNet *setupNote        `json:"setup_network"` // null without setup, or if the repository was not fetched
		Verify   []verifyDocument  `json:"verify"`
		Baseline *string           `json:"baseline"` // null without verify commands
		Attempts int               `json:"attempts"`
		Needs    []string          `json:"needs"`
		Limits   limitsDocument    `json:"limits"`
		Publish  string            `json:"publish"`
		MaxCost  *money.USD        `json:"max_cost_usd"` // of the job; null as above
		Note     *note             `json:"note"`         // null if the job runs
	}
	verifyDocument struct {
		Name string `json:"name"`
		Run  string `json:"run"`
		Time string `json:"time"`
	}
	limitsDocument struct {
		// null: no limit
		Turns    *int       `json:"turns"`
		CostUSD  *money.USD `json:"cost_usd"`
		Time     *string    `json:"time"`
		Tokens   *int64     `json:"tokens"`
		Denials  *int       `json:"denials"`
		Failures *int       `json:"failures"`
		Disk     *int64     `json:"disk_bytes"`
		Memory   *int64     `json:"memory_bytes"`
		Pids     *int       `json:"processes"`
	}
)

func planJSON(plan *tasks.Plan, extensions []planned.Extension, notes map[string]note, setups map[string]setupNote, m *models.Set) planDocument {
	doc := planDocument{Name: plan.Name, Manifests: plan.Manifests, Hash: plan.Hash, Parallel: plan.Parallel, MaxCost: maxRunCost(m, notes), Jobs: []jobDocument{}, Extensions: extensions, Sources: append([]event.Source{}, plan.RecordedSources()...)}
	for _, j := range plan.Jobs {
		job := jobJSON(j)
		job.MaxCost = maxCost(m, j, notes[j.ID])
		if n, ok := notes[j.ID]; ok {
			job.Note = &n
		}
		if s, ok := setups[j.ID]; ok {
			job.SetupNet = &s
		}
		doc.Jobs = append(doc.Jobs, job)
	}
	return doc
}

func jobJSON(j tasks.Job) jobDocument {
	l := j.Limits
	doc := jobDocument{
		ID: j.ID, Task: j.Task, Repo: j.Repo.Name, Matrix: j.Matrix, Model: j.ModelName, Profile: j.Profile.Name, Agent: j.Agent,
		Prompt: j.Prompt, Setup: append([]string{}, j.Setup...), Verify: []verifyDocument{}, Attempts: j.Attempts, Needs: append([]string{}, j.Needs...),
		Limits:  limitsDocument{some(l.Turns), some(l.CostUSD), some(limitOf(l.Time)), some(l.Tokens), some(l.Denials), some(l.Failures), some(l.Disk), some(l.Memory), some(l.Processes)},
		Publish: string(j.Publish), Baseline: some(string(j.Baseline)),
	}
	if j.Commit != nil {
		doc.Branch = &j.Commit.Branch
	}
	if j.Script != nil {
		doc.Script = &j.Script.File
	}
	for _, v := range j.Verify {
		doc.Verify = append(doc.Verify, verifyDocument{v.Name, v.Run, limitOf(v.Time)})
	}
	return doc
}

// some returns nil, null in JSON, for the zero value, which means no limit.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func limitOf(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func validateCommand(w world.World) *cli.Command {
	o := &load.Options{}
	return &cli.Command{
		Name: "validate", Usage: "Check manifests and the examples of their policies", ArgsUsage: "[MANIFEST...]",
		Description: "Report every error in manifests, with its line, and test the examples of their\npolicies. Nothing is run.\n" + load.OrUsual,
		UsageText:   "millhand validate millhand.yaml",
		Flags:       flagsOf(o.Fields()),
		Action: act(func(args []string) error { return o.Parse("validate", args) }, checks(func(ctx context.Context) error {
			return validate(ctx, w, *o)
		})),
	}
}

func validate(ctx context.Context, w world.World, o load.Options) error {
	plan, err := load.Plan(ctx, w, o)
	if err != nil {
		return err
	}
	if err := errors.Join(policies.CheckExamples(w, plan), models.New(plan, w.Getenv, w.Now, w.Proxy, pricetable.Saved(w)).Unpriced()); err != nil {
		return err
	}
	printNotes(w, plan, slices.Concat(runs.NoteProfiles(plan), runs.NoteOnRunner(w, plan))...)
	for _, l := range models.New(plan, w.Getenv, w.Now, w.Proxy, pricetable.Saved(w)).Logins() {
		if l.Err != nil {
			fmt.Fprintln(w.Err, printable.Text("warning: "+l.Err.Error()))
		} else {
			fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("%s: login with %s, not tried", l.Model, l.Source)))
		}
	}
	load.NoteUnlisted(w, plan)
	proposeSetup(w, plan)
	if len(plan.Unlisted()) > 0 {
		fmt.Fprintf(w.Out, "%s: no problems found\n", strings.Join(plan.Manifests, ", "))
		return nil
	}
	fmt.Fprintf(w.Out, "%s: %s, no problems found\n", strings.Join(plan.Manifests, ", "), figures.Count(len(plan.Jobs), "job"))
	return nil
}

// printNotes prints what a user should know of a plan, and that stops nothing, with more of that.
func printNotes(w world.World, plan *tasks.Plan, more ...string) {
	for _, note := range slices.Concat(plan.Notes, more, models.New(plan, w.Getenv, w.Now, w.Proxy, pricetable.Saved(w)).Notes()) {
		fmt.Fprintln(w.Err, printable.Text("warning: "+note))
	}
}
