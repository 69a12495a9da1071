// Package outlook shows what a run of a plan would do (`millhand plan`): its jobs, which of them would not start, by
// package preflight, and what they may cost and reach. [Validate] makes instead the checks of a run for which this
// machine needs neither files of models nor keys nor a sandbox, by package checks (`millhand validate`). It runs
// nothing, reserves and publishes nothing. Only with --check does preflight contact git remotes, and fetch from them as
// for a run. Lists of repositories are asked from forges as for a run (package load; [Validate] asks none), and the next
// wave and the forecast come from [world.Rollouts].
package outlook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// Options are what the flags of "millhand plan" set.
type Options struct {
	Plan   load.Options
	Format string   // table, json or github-matrix
	Shards int      // of a matrix; 0 for one per job
	Check  bool     // contact remotes, and fail if a job would be refused
	After  []string // saved runs whose jobs are done
}

// Parse reads the arguments of "millhand plan", and checks its options.
func (o *Options) Parse(args []string) error {
	if !slices.Contains([]string{"table", "json", "github-matrix"}, o.Format) {
		return fmt.Errorf("unknown plan format %q: use table, json or github-matrix", o.Format)
	}
	if o.Shards > maxMatrix {
		return fmt.Errorf("--shards %d: must be from 1 to %d", o.Shards, maxMatrix)
	}
	o.Plan.Paths = []load.Path{{Flag: "--sources", Path: o.Plan.Sources.File}}
	return o.Plan.Parse("plan", args)
}

// Show prints the jobs of a plan, and what is known of them.
func Show(ctx context.Context, w world.World, o Options) error {
	plan, err := load.Listed(ctx, w, o.Plan, false)
	if err != nil {
		return err
	}
	set := models.Of(w, plan)
	printNotes(w, plan, set)
	proposeSetup(w, plan)
	if o.Format == "github-matrix" {
		return githubMatrix(w, plan, o.Shards)
	}
	waves, err := plannedWaves(ctx, w, o, plan)
	if err != nil {
		return err
	}
	notes, setups, refused, err := look(ctx, w, waves.Next, !o.Check)
	if err != nil {
		return err
	}
	waves.note(notes)
	if o.Format == "json" {
		doc := planJSON(plan, planned.Extensions(plan, w.Getenv), notes, setups, set)
		waves.describe(&doc)
		err = printable.WriteJSON(w.Out, doc)
	} else if err = planTable(w.Out, plan, notes, set); err == nil {
		err = waves.print(w.Out)
		load.PrintSources(w.Out, plan)
		printScripts(w.Out, plan)
		err = errors.Join(err, planned.PrintExtensions(w.Out, planned.Extensions(plan, w.Getenv)), planned.PrintGrants(w.Out, plan.Grants()))
		err = errors.Join(err, printSetups(w.Out, plan, setups), printAfterUntrusted(w.Out, plan))
	}
	failing := 0
	for _, n := range notes {
		if n.Action == "fail" {
			failing++
		}
	}
	switch {
	case err != nil || !o.Check:
		return err
	case refused > 0:
		return fault.New(event.ExitUsage, "%s would be refused", figures.Count(refused, "job"))
	case failing > 0:
		return fault.New(event.ExitUsage, "%s would fail immediately", figures.Count(failing, "job"))
	}
	return nil
}

// Validate checks manifests and the examples of their policies, and prints their warnings.
func Validate(ctx context.Context, w world.World, o load.Options) error {
	plan, err := load.Plan(ctx, w, o)
	if err != nil {
		return err
	}
	set, err := checks.Elsewhere(ctx, w, plan, checks.Here{})
	if err != nil {
		return err
	}
	printNotes(w, plan, set, slices.Concat(planned.NoteProfiles(plan), planned.NoteOnRunner(w, plan))...)
	for _, l := range set.Logins() {
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
func printNotes(w world.World, plan *tasks.Plan, set *models.Set, more ...string) {
	for _, note := range slices.Concat(plan.Notes, more, set.Notes()) {
		fmt.Fprintln(w.Err, printable.Text("warning: "+note))
	}
}

// printScripts prints the scripts of the plan's jobs.
func printScripts(out io.Writer, plan *tasks.Plan) {
	var files []string
	for _, j := range plan.Jobs {
		if j.Script != nil && !slices.Contains(files, j.Script.File) {
			files = append(files, j.Script.File)
		}
	}
	if len(files) > 0 {
		fmt.Fprintf(out, "scripts: %s: run before a session\n", printable.Line(strings.Join(files, ", "), printable.Width))
	}
}
