package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

// planOptions select manifests and override parts of the plan.
type planOptions struct {
	policyOptions
	tasks.Overrides
	manifests []string
	prompt    []byte // manifest of a prompt, used instead of manifests if there is one
	run       string // id of the run that is loaded; "" for that of a new one
	sources   sourceOptions
}

const fromManifest = "from the manifest"

// fields are the options that decide whether manifests are valid.
func (o *planOptions) fields() []option.Field {
	return []option.Field{
		{Name: "model", Group: option.Tasks, To: &o.Model, Default: fromManifest, Usage: "Use `MODEL` for every task, for example openai/gpt-5-mini"},
		{Name: "profile", Group: option.Tasks, To: &o.Profile, Default: fromManifest, Usage: "Use `PROFILE` for every task: a preset, a profile of the manifest, or a file"},
		{Name: "var", Group: option.Tasks, To: option.Variables{To: &o.Vars}, Usage: "Set a variable, as `NAME=VALUE` (repeatable)"},
		{Name: "publish", Group: option.Tasks, To: (*string)(&o.Publish), Default: fromManifest, Usage: "Publish changes as `MODE`: none, patch, branch, push or pr"},
		{Name: "max-cost", Group: option.Limits, To: option.Of(&o.MaxCost, option.Dollars), Default: fromManifest, Usage: "Limit the cost of the run to `USD` (US dollars)"},
		{Name: "max-profile", Group: option.Permissions, To: &o.maxProfile, Usage: "Limit every profile to what `PROFILE` allows: a preset, a profile of the manifest, or a file"},
		o.policyField(option.Permissions),
		{Name: "untrusted", Group: option.Permissions, To: &o.untrusted, Usage: "Treat manifests as untrusted: preset readonly unless --max-profile allows more, and no access to this machine or other hosts"},
	}
}

// jobFields are fields, and those that select jobs and limit them.
func (o *planOptions) jobFields() []option.Field {
	return append(o.fields(), []option.Field{
		{Name: "only", Group: option.Tasks, To: (*option.Texts)(&o.Only), Usage: "Select only the task or job `ID` (repeatable)"},
		{Name: "limit", Group: option.Tasks, To: option.Of(&o.Limit, option.AtLeastOne), Default: "all", Usage: "Select only the first `N` jobs"},
		{Name: "sample", Group: option.Tasks, To: option.Of(&o.Sample, option.AtLeastOne), Default: "all", Usage: "Select only `N` jobs, spread evenly over the plan"},
		{Name: "shard", Group: option.Tasks, To: option.Of(&o.Shard, tasks.ParseShard), Default: "all", Usage: "Select only shard `I/N` of the plan, for example 2/5"},
		{Name: "sources", Group: option.Tasks, To: &o.sources.file, Usage: "Use the repositories of github, gitlab and gitea entries that `FILE` lists, the output of millhand plan --format json, instead of asking forges"},
		{Name: "jobs", Group: option.Limits, To: option.Of(&o.Parallel, option.AtLeastOne), Default: fromManifest, Usage: "Run up to `N` jobs in parallel"},
		{Name: "max-turns", Group: option.Limits, To: option.Of(&o.MaxTurns, option.AtLeastOne), Default: fromManifest, Usage: "Stop a job after `N` turns"},
	}...)
}

// usualManifest is the manifest of commands that are given none.
const usualManifest = "millhand.yaml"

// orUsual ends the descriptions of commands that accept manifests.
const orUsual = "Without an argument, the manifest is " + usualManifest + " of the current directory."

// parse reads the manifests of a command that requires at least one.
func (o *planOptions) parse(command string, args []string) error {
	if len(args) == 0 {
		if _, err := os.Stat(usualManifest); err != nil {
			return fmt.Errorf("%s requires a manifest, and %s was not found in the current directory: name one, or write one with millhand init", command, usualManifest)
		}
		args = []string{usualManifest}
	}
	o.manifests = args
	return nil
}

// loadPlan loads the manifests of a command line with its flags. It asks no forge.
func loadPlan(ctx context.Context, w world.World, o planOptions) (*tasks.Plan, error) {
	load, err := loader(ctx, w, o)
	if err != nil {
		return nil, err
	}
	return load(nil)
}

// loader returns a function that loads the manifests of a command line, given the lists of
// their sources.
func loader(ctx context.Context, w world.World, o planOptions) (func(lists []tasks.Listed) (*tasks.Plan, error), error) {
	opts, err := surroundings(ctx, w, o.policyOptions)
	if err != nil {
		return nil, err
	}
	opts.Overrides, opts.RunID = o.Overrides, cmp.Or(o.run, runID(w))
	return func(lists []tasks.Listed) (*tasks.Plan, error) {
		opts.Lists = lists
		load := func() (*tasks.Plan, error) { return tasks.Load(ctx, o.manifests, opts) }
		if o.prompt != nil {
			load = func() (*tasks.Plan, error) { return tasks.LoadPrompt(ctx, o.prompt, opts) }
		}
		plan, err := load()
		var problems problem.List
		switch {
		case errors.As(err, &problems):
			return nil, fault.Wrap(event.ExitUsage, fault.Refused{Problems: problems, Text: figures.Count(len(problems), "problem") + ": nothing was run"})
		case err != nil:
			return nil, notLoaded(ctx, err)
		}
		return plan, lower(ctx, plan, o.policyOptions, opts)
	}, nil
}

// timed limits the time of a run, which includes loading and the preflight; 0 is no limit. The
// cause of the context's end has the exit code.
func timed(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, runner.Deadline(&tasks.Plan{Budget: tasks.Budget{Time: limit}}))
}

// notLoaded is the failure of a command whose input could not be read. If its context ended, the
// exit code is that of the signal or of the limit.
func notLoaded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("%w; nothing was run", err)
	}
	return fault.Wrap(event.ExitUsage, err)
}

// lower limits every profile of a plan to --max-profile.
func lower(ctx context.Context, plan *tasks.Plan, o policyOptions, opts tasks.Options) error {
	if o.maxProfile == "" || o.untrusted { // with --untrusted a policy does it
		return nil
	}
	most, err := tasks.LoadProfile(ctx, o.maxProfile, "", opts)
	if _, noFile := os.Stat(o.maxProfile); err != nil && noFile != nil { // a profile never replaces an unreadable file
		if at := slices.IndexFunc(plan.Profiles, func(p permission.Profile) bool { return p.Name == o.maxProfile }); at >= 0 {
			most, err = plan.Profiles[at], nil
		}
	}
	if err != nil {
		return fault.New(event.ExitUsage, "--max-profile %s: %w", o.maxProfile, err)
	}
	for i, j := range plan.Jobs {
		plan.Jobs[i].Profile = j.Profile.Under(most)
	}
	return nil
}

// surroundings returns the options for loading a manifest: properties of the process,
// and the policies.
func surroundings(ctx context.Context, w world.World, o policyOptions) (opts tasks.Options, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return opts, fault.New(event.ExitUsage, "find the current directory: %w", err)
	}
	opts = tasks.Options{Dir: dir, Getenv: w.Getenv, Known: models.KnownPrice(pricetable.Saved(w), w.Now), Stdin: sync.OnceValues(func() ([]byte, error) { return io.ReadAll(w.In) })}
	opts.Policies, err = readPolicies(ctx, w, o, opts)
	return opts, err
}

// profileOptions select a profile.
type profileOptions struct {
	policyOptions
	profile  string // "" for preset full
	manifest string // that can define profile; "" for none
}

func (o *profileOptions) fields(otherwise string) []option.Field {
	return []option.Field{
		{Name: "profile", To: &o.profile, Default: otherwise, Usage: "Use `PROFILE`: a preset, a profile of the manifest, or a file"},
		{Name: "manifest", To: &o.manifest, Usage: "Read profiles and tools from the manifest in `FILE`"},
		o.policyField(""),
	}
}

// loadProfile loads a profile, limited by the policies.
func loadProfile(ctx context.Context, w world.World, o profileOptions) (permission.Profile, error) {
	name := o.profile
	if name == "" {
		name = "full"
	}
	opts, err := surroundings(ctx, w, o.policyOptions)
	if err != nil {
		return permission.Profile{}, err
	}
	p, err := tasks.LoadProfile(ctx, name, o.manifest, opts)
	if err != nil {
		return p, fault.Wrap(event.ExitUsage, err)
	}
	return opts.Policies.Under(p), nil
}

// runID returns a unique id that sorts by time.
func runID(w world.World) string {
	var b [4]byte
	rand.Read(b[:])
	return w.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}
