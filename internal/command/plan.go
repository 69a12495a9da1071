package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/models"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

// planFlags are the flags that change what a manifest comes to.
func planFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "use this model for every task"},
		&cli.StringFlag{Name: "profile", Usage: "use this profile for every task: a preset, one of the manifest's, or a file"},
		&cli.StringSliceFlag{Name: "only", Usage: "run only this task or job (repeatable)"},
		&cli.StringSliceFlag{Name: "var", Usage: "set a variable, as K=V (repeatable)"},
		&cli.IntFlag{Name: "jobs", Usage: "jobs side by side", DefaultText: "the manifest's"},
		&cli.IntFlag{Name: "max-turns", Usage: "turns that each job may take at most", DefaultText: "the manifest's"},
		&cli.Float64Flag{Name: "max-cost", Usage: "US dollars that the run may cost at most", DefaultText: "the manifest's"},
		&cli.DurationFlag{Name: "max-time", Usage: "time that the run may take at most, as 90m", DefaultText: "the manifest's"},
		&cli.StringFlag{Name: "max-profile", Usage: "a profile that no other may exceed: a preset, one of the manifest's, or a file"},
		&cli.IntFlag{Name: "limit", Usage: "only the first so many jobs", DefaultText: "all"},
		&cli.IntFlag{Name: "sample", Usage: "only so many jobs, spread over the plan", DefaultText: "all"},
		&cli.StringFlag{Name: "shard", Usage: "only one part of the plan, as 2/5", DefaultText: "all of it"},
		&cli.StringFlag{Name: "publish", Usage: "none, patch, branch or push, for every task", DefaultText: "the manifest's"},
	}
}

// loadPlan loads the manifests that a command line names, under its flags.
func loadPlan(c *cli.Context, w World) (*tasks.Plan, error) {
	if c.NArg() == 0 {
		return nil, fail(event.ExitUsage, "%s wants a manifest: millhand %[1]s millhand.yaml", c.Command.Name)
	}
	opts, err := loadOptions(c, w)
	if err != nil {
		return nil, err
	}
	plan, err := tasks.Load(c.Context, c.Args().Slice(), opts)
	var problems tasks.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			fmt.Fprintln(w.Err, printable.Text(p.String()))
		}
		return nil, fail(event.ExitUsage, "%s: nothing was run", view.Plural(len(problems), "problem"))
	case err != nil:
		return nil, failure{event.ExitUsage, err}
	}
	return plan, lower(c, w, plan)
}

// lower puts every profile of a plan below the one that the command line names
// as the most.
func lower(c *cli.Context, w World, plan *tasks.Plan) error {
	name := c.String("max-profile")
	if name == "" {
		return nil
	}
	opts, err := loadOptions(c, w)
	if err != nil {
		return err
	}
	most, err := tasks.LoadProfile(c.Context, name, "", opts)
	if _, noFile := os.Stat(name); err != nil && noFile != nil { // a file that can't be read is never stood in for
		if at := slices.IndexFunc(plan.Profiles, func(p permission.Profile) bool { return p.Name == name }); at >= 0 {
			most, err = plan.Profiles[at], nil
		}
	}
	if err != nil {
		return fail(event.ExitUsage, "--max-profile %s: %w", name, err)
	}
	for i, j := range plan.Jobs {
		plan.Jobs[i].Profile = j.Profile.Under(most)
	}
	return nil
}

// surroundings are what loading a manifest needs to know of the process.
func surroundings(w World) (tasks.Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return tasks.Options{}, fail(event.ExitUsage, "find the current directory: %w", err)
	}
	return tasks.Options{Dir: dir, Getenv: w.Getenv, Stdin: func() ([]byte, error) { return io.ReadAll(w.In) }}, nil
}

func loadOptions(c *cli.Context, w World) (tasks.Options, error) {
	o, err := surroundings(w)
	if err != nil {
		return o, err
	}
	vars := map[string]string{}
	for _, kv := range c.StringSlice("var") {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return o, fail(event.ExitUsage, "--var %q: write it as NAME=VALUE", kv)
		}
		vars[k] = v
	}
	for _, name := range []string{"jobs", "max-turns", "limit", "sample"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			return o, fail(event.ExitUsage, "--%s %d: give a number above 0", name, c.Int(name))
		}
	}
	if c.IsSet("max-cost") && !(c.Float64("max-cost") > 0) || c.IsSet("max-time") && c.Duration("max-time") <= 0 {
		return o, fail(event.ExitUsage, "--max-cost and --max-time want a value above 0")
	}
	var shard tasks.Shard
	if c.String("shard") != "" {
		if shard, err = tasks.ParseShard(c.String("shard")); err != nil {
			return o, fail(event.ExitUsage, "--shard: %w", err)
		}
	}
	cost, known := money.FromFloat(c.Float64("max-cost"))
	if !known {
		return o, fail(event.ExitUsage, "--max-cost is no amount in USD")
	}
	o.Overrides = tasks.Overrides{
		Model: c.String("model"), Profile: c.String("profile"), Only: c.StringSlice("only"), Vars: vars,
		Parallel: c.Int("jobs"), MaxTurns: c.Int("max-turns"), MaxCost: cost, MaxTime: c.Duration("max-time"),
		Limit: c.Int("limit"), Sample: c.Int("sample"), Shard: shard, Publish: tasks.PublishMode(c.String("publish")),
	}
	return o, nil
}

func planCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "shows the jobs that manifests come to, and which would be left out; runs nothing", ArgsUsage: "MANIFEST...",
		Flags: append(planFlags(),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "table, json or github-matrix"},
			&cli.IntFlag{Name: "shards", Usage: "with github-matrix: parts to divide the plan into", DefaultText: "one for each job, 256 at most"},
			&cli.BoolFlag{Name: "check", Usage: "fetch what is elsewhere, too, and fail with code 2 if a job would be refused"},
		),
		Action: func(c *cli.Context) error { return showPlan(c, w) },
	}
}

func showPlan(c *cli.Context, w World) error {
	format := c.String("format")
	if !slices.Contains([]string{"table", "json", "github-matrix"}, format) {
		return fail(event.ExitUsage, "there is no plan format %q: use table, json or github-matrix", format)
	}
	plan, err := loadPlan(c, w)
	if err != nil {
		return err
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(w.Err, printable.Text("note: "+note))
	}
	if format == "github-matrix" {
		return githubMatrix(c, w, plan)
	}
	notes, refused, err := outlook(c, w, plan)
	if err != nil {
		return err
	}
	if format == "json" {
		err = writeJSON(w.Out, planJSON(plan, notes, models.New(plan, w.Getenv, w.Now)))
	} else {
		err = planTable(w.Out, plan, notes, models.New(plan, w.Getenv, w.Now))
	}
	failing := 0
	for _, n := range notes {
		if n.Action == "fail" {
			failing++
		}
	}
	switch {
	case err != nil || !c.Bool("check"):
		return err
	case refused > 0:
		return fail(event.ExitUsage, "%s would be refused", view.Plural(refused, "job"))
	case failing > 0:
		return fail(event.ExitFailed, "%s would fail at once", view.Plural(failing, "job"))
	}
	return nil
}

// note is what would become of a job before it begins. The zero value: it runs.
type note struct {
	Action string `json:"action"` // skip, refuse or fail
	Reason string `json:"reason"`
	Code   string `json:"code"`
}

func (n note) String() string {
	if n.Action == "" {
		return "-"
	}
	return n.Action + ": " + n.Reason
}

// outlook finds out which jobs would not run, and how many of them would keep
// the whole run from beginning.
func outlook(c *cli.Context, w World, plan *tasks.Plan) (notes map[string]note, refused int, err error) {
	at := look(w)
	at.Local = !c.Bool("check")
	ready, err := runner.Preflight(c.Context, plan, at)
	if c.Err() != nil {
		return nil, 0, fail(event.ExitInterrupt, "%w", context.Cause(c.Context))
	}
	notes = map[string]note{}
	for _, r := range runner.Refusals(err) {
		notes[r.Job] = note{"refuse", r.Err.Error(), string(r.Code)}
		refused++
	}
	for _, j := range plan.Jobs {
		if s := ready.Skip(j.ID); s.Reason != "" {
			action := "skip"
			if s.Outcome != event.Skipped {
				action = "fail"
			}
			notes[j.ID] = note{action, s.Reason, string(s.Code)}
		}
	}
	return notes, refused, nil
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
			j.ID, j.Repo.Name, j.ModelName, j.Profile.Name, branchOf(j), dash(checks), dash(j.Needs), atMost(mostOf(m, j, notes[j.ID])), printable.Line(notes[j.ID].String(), 200))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	left := ""
	if len(notes) > 0 {
		left = fmt.Sprintf(", %d of them with a note", len(notes))
	}
	cost := "of unlimited cost"
	if most := mostOfAll(m, notes); most != nil {
		cost = "for " + atMost(most) + " at most"
	}
	_, err := fmt.Fprintf(out, "\n%s%s, %s, %d at once, plan %.12s\n", view.Plural(len(plan.Jobs), "job"), left, cost, plan.Parallel, plan.Hash)
	return err
}

// maxMatrix is how many jobs GitHub makes of one matrix at most.
const maxMatrix = 256

// githubMatrix prints what a workflow's strategy.matrix takes: one entry for
// each part of the plan that has jobs.
func githubMatrix(c *cli.Context, w World, plan *tasks.Plan) error {
	total := c.Int("shards")
	switch {
	case plan.Shard.Total > 0:
		return fail(event.ExitUsage, "--format github-matrix divides the whole plan: leave --shard out")
	case !c.IsSet("shards"):
		total = max(1, min(len(plan.Jobs), maxMatrix))
	case total < 1 || total > maxMatrix:
		return fail(event.ExitUsage, "--shards %d: give a number from 1 to %d", total, maxMatrix)
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
		return fail(event.ExitInternal, "encode the matrix: %w", err)
	}
	_, err = fmt.Fprintf(w.Out, "%s\n", line)
	return err
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

// The JSON form of a plan: what users' scripts read.
type (
	planDocument struct {
		Name      string        `json:"name"`
		Manifests []string      `json:"manifest"`
		Hash      string        `json:"plan_hash"`
		Parallel  int           `json:"jobs_at_once"`
		MaxCost   *money.USD    `json:"max_cost_usd"` // the most that the run can cost; null: nothing limits it, or a price is unknown
		Jobs      []jobDocument `json:"jobs"`
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
		Verify   []verifyDocument  `json:"verify"`
		Attempts int               `json:"attempts"`
		Needs    []string          `json:"needs"`
		Limits   limitsDocument    `json:"limits"`
		Publish  string            `json:"publish"`
		MaxCost  *money.USD        `json:"max_cost_usd"` // the most that the job can cost; null as above
		Note     *note             `json:"note"`         // null: the job runs
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

func planJSON(plan *tasks.Plan, notes map[string]note, m *models.Set) planDocument {
	doc := planDocument{Name: plan.Name, Manifests: plan.Manifests, Hash: plan.Hash, Parallel: plan.Parallel, MaxCost: mostOfAll(m, notes), Jobs: []jobDocument{}}
	for _, j := range plan.Jobs {
		job := jobJSON(j)
		job.MaxCost = mostOf(m, j, notes[j.ID])
		if n, ok := notes[j.ID]; ok {
			job.Note = &n
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
		Limits:  limitsDocument{some(l.Turns), some(l.CostUSD), some(clock(l.Time)), some(l.Tokens), some(l.Denials), some(l.Failures), some(l.Disk), some(l.Memory), some(l.Processes)},
		Publish: string(j.Publish),
	}
	if j.Commit != nil {
		doc.Branch = &j.Commit.Branch
	}
	for _, v := range j.Verify {
		doc.Verify = append(doc.Verify, verifyDocument{v.Name, v.Run, clock(v.Time)})
	}
	return doc
}

// some is null in JSON for the zero value, which means no limit.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func clock(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func writeJSON(out io.Writer, doc any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

func validateCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "tells every mistake in manifests at once, and tests their policy examples", ArgsUsage: "MANIFEST...",
		Flags: planFlags(),
		Action: func(c *cli.Context) error {
			plan, err := loadPlan(c, w)
			if err != nil {
				return err
			}
			if err := errors.Join(testExamples(c.Context, w, plan), models.New(plan, w.Getenv, w.Now).Unpriced()); err != nil {
				return err
			}
			fmt.Fprintf(w.Out, "%s: %s, no problem found\n", strings.Join(plan.Manifests, ", "), view.Plural(len(plan.Jobs), "job"))
			return nil
		},
	}
}

// testExamples checks the examples of every profile that the plan uses.
func testExamples(_ context.Context, w World, plan *tasks.Plan) error {
	judge, done, err := newJudge(w)
	if err != nil {
		return err
	}
	defer done()
	var problems tasks.Problems
	for _, p := range plan.Profiles {
		problems = append(problems, tasks.CheckExamples(p, judge.decide(p))...)
	}
	if len(problems) == 0 {
		return nil
	}
	for _, p := range problems {
		fmt.Fprintln(w.Err, printable.Text(p.String()))
	}
	return fail(event.ExitUsage, "%s of the policy do not hold", view.Plural(len(problems), "example"))
}

// mostOf is the most that a job can cost, in USD; nil for no limit.
func mostOf(m *models.Set, j tasks.Job, n note) *money.USD {
	if n.Action != "" { // it does not run
		return new(money.USD)
	}
	return m.MostOf(j)
}

// mostOfAll is the most that the run can cost, in USD; nil for no limit.
func mostOfAll(m *models.Set, notes map[string]note) *money.USD {
	return m.MostOfAll(func(j tasks.Job) bool { return notes[j.ID].Action == "" })
}

func atMost(usd *money.USD) string {
	if usd == nil {
		return "unlimited"
	}
	return "$" + usd.String()
}
