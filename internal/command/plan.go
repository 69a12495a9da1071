package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
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
			fmt.Fprintln(w.Err, printable(p.String()))
		}
		return nil, fail(event.ExitUsage, "%s: nothing was run", plural(len(problems), "problem"))
	case err != nil:
		return nil, failure{event.ExitUsage, err}
	}
	return plan, nil
}

func loadOptions(c *cli.Context, w World) (tasks.Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return tasks.Options{}, fail(event.ExitUsage, "find the current directory: %w", err)
	}
	o := tasks.Options{Dir: dir, Getenv: w.Getenv, Stdin: func() ([]byte, error) { return io.ReadAll(w.In) }}
	vars := map[string]string{}
	for _, kv := range c.StringSlice("var") {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return o, fail(event.ExitUsage, "--var %q: write it as NAME=VALUE", kv)
		}
		vars[k] = v
	}
	for _, name := range []string{"jobs", "max-turns"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			return o, fail(event.ExitUsage, "--%s %d: give a number above 0", name, c.Int(name))
		}
	}
	if c.IsSet("max-cost") && !(c.Float64("max-cost") > 0) || c.IsSet("max-time") && c.Duration("max-time") <= 0 {
		return o, fail(event.ExitUsage, "--max-cost and --max-time want a value above 0")
	}
	o.Overrides = tasks.Overrides{
		Model: c.String("model"), Profile: c.String("profile"), Only: c.StringSlice("only"), Vars: vars,
		Parallel: c.Int("jobs"), MaxTurns: c.Int("max-turns"), MaxCost: c.Float64("max-cost"), MaxTime: c.Duration("max-time"),
	}
	return o, nil
}

func planCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "shows the jobs that manifests come to; runs nothing", ArgsUsage: "MANIFEST...",
		Flags: append(planFlags(), &cli.StringFlag{Name: "format", Value: "table", Usage: "table or json"}),
		Action: func(c *cli.Context) error {
			plan, err := loadPlan(c, w)
			if err != nil {
				return err
			}
			switch format := c.String("format"); format {
			case "table":
				return planTable(w.Out, plan)
			case "json":
				return writeJSON(w.Out, planJSON(plan))
			case "github-matrix":
				return fail(event.ExitUsage, "plan --format github-matrix is not supported yet")
			default:
				return fail(event.ExitUsage, "there is no plan format %q: use table or json", format)
			}
		},
	}
}

func planTable(out io.Writer, plan *tasks.Plan) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tREPO\tMODEL\tPROFILE\tBRANCH\tVERIFY\tNEEDS")
	for _, j := range plan.Jobs {
		var checks []string
		for _, v := range j.Verify {
			checks = append(checks, v.Name)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", j.ID, j.Repo.Name, j.ModelName, j.Profile.Name, branchOf(j), dash(checks), dash(j.Needs))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s, %d at once, plan %.12s\n", plural(len(plan.Jobs), "job"), plan.Parallel, plan.Hash)
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
	}
	verifyDocument struct {
		Name string `json:"name"`
		Run  string `json:"run"`
		Time string `json:"time"`
	}
	limitsDocument struct {
		// null: no limit
		Turns    *int     `json:"turns"`
		CostUSD  *float64 `json:"cost_usd"`
		Time     *string  `json:"time"`
		Tokens   *int64   `json:"tokens"`
		Denials  *int     `json:"denials"`
		Failures *int     `json:"failures"`
	}
)

func planJSON(plan *tasks.Plan) planDocument {
	doc := planDocument{Name: plan.Name, Manifests: plan.Manifests, Hash: plan.Hash, Parallel: plan.Parallel, Jobs: []jobDocument{}}
	for _, j := range plan.Jobs {
		doc.Jobs = append(doc.Jobs, jobJSON(j))
	}
	return doc
}

func jobJSON(j tasks.Job) jobDocument {
	l := j.Limits
	doc := jobDocument{
		ID: j.ID, Task: j.Task, Repo: j.Repo.Name, Matrix: j.Matrix, Model: j.ModelName, Profile: j.Profile.Name, Agent: j.Agent,
		Prompt: j.Prompt, Setup: append([]string{}, j.Setup...), Verify: []verifyDocument{}, Attempts: j.Attempts, Needs: append([]string{}, j.Needs...),
		Limits: limitsDocument{some(l.Turns), some(l.CostUSD), some(clock(l.Time)), some(l.Tokens), some(l.Denials), some(l.Failures)},
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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
			if err := testExamples(c.Context, w, plan); err != nil {
				return err
			}
			fmt.Fprintf(w.Out, "%s: %s, no problem found\n", strings.Join(plan.Manifests, ", "), plural(len(plan.Jobs), "job"))
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
		fmt.Fprintln(w.Err, printable(p.String()))
	}
	return fail(event.ExitUsage, "%s of the policy do not hold", plural(len(problems), "example"))
}
