// Package load makes the plan of a command line: it reads manifests or a prompt, the policies that apply, and the
// lists of repositories, which it asks forges for. It gives the reader of manifests what follows from this
// process: variables, standard input and known prices. It also has the ids of new runs ([NewRunID])
// and their time limit ([Timed]). It checks no repository, opens no model and runs nothing.
package load

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// Options select manifests and override parts of the plan.
type Options struct {
	PolicyOptions
	tasks.Overrides
	Manifests []string
	Prompt    []byte // manifest of a prompt, used instead of manifests if there is one
	Run       string // id of the run that is loaded; "" for that of a new one
	Sources   SourceOptions
}

// FromManifest is the default, in help, of a flag that a manifest sets otherwise.
const FromManifest = "from the manifest"

// Fields are the options that decide whether manifests are valid.
func (o *Options) Fields() []option.Field {
	return []option.Field{
		{Name: "model", Group: option.Tasks, To: &o.Model, Default: FromManifest, Usage: "Use `MODEL` for every task, for example openai/gpt-5-mini"},
		{Name: "profile", Group: option.Tasks, To: &o.Profile, Default: FromManifest, Usage: "Use `PROFILE` for every task: a preset, a profile of the manifest, or a file"},
		{Name: "var", Group: option.Tasks, To: option.Variables{To: &o.Vars}, Usage: "Set a variable, as `NAME=VALUE` (repeatable)"},
		{Name: "publish", Group: option.Tasks, To: (*string)(&o.Publish), Default: FromManifest, Usage: "Publish changes as `MODE`: none, patch, branch, push or pr"},
		{Name: "max-cost", Group: option.Limits, To: option.Of(&o.MaxCost, option.Dollars), Default: FromManifest, Usage: "Limit the cost of the run to `USD` (US dollars)"},
		{Name: "max-profile", Group: option.Permissions, To: &o.MaxProfile, Usage: "Limit every profile to what `PROFILE` allows: a preset, a profile of the manifest, or a file"},
		o.PolicyField(option.Permissions),
		{
			Name: "untrusted", Group: option.Permissions, To: &o.Untrusted,
			Usage: "Treat manifests as untrusted: preset readonly unless --max-profile allows more, and no access to this machine or other hosts",
		},
	}
}

// JobFields are fields, and those that select jobs and limit them.
func (o *Options) JobFields() []option.Field {
	return append(o.Fields(), []option.Field{
		{Name: "only", Group: option.Tasks, To: (*option.Texts)(&o.Only), Usage: "Select only the task or job `ID` (repeatable)"},
		{Name: "limit", Group: option.Tasks, To: option.Of(&o.Limit, option.AtLeastOne), Default: "all", Usage: "Select only the first `N` jobs"},
		{Name: "sample", Group: option.Tasks, To: option.Of(&o.Sample, option.AtLeastOne), Default: "all", Usage: "Select only `N` jobs, spread evenly over the plan"},
		{Name: "shard", Group: option.Tasks, To: option.Of(&o.Shard, tasks.ParseShard), Default: "all", Usage: "Select only shard `I/N` of the plan, for example 2/5"},
		{
			Name: "sources", Group: option.Tasks, To: &o.Sources.File,
			Usage: "Use the repositories of github, gitlab and gitea entries that `FILE` lists, the output of millhand plan --format json, instead of asking forges",
		},
		{Name: "jobs", Group: option.Limits, To: option.Of(&o.Parallel, option.AtLeastOne), Default: FromManifest, Usage: "Run up to `N` jobs in parallel"},
		{Name: "max-turns", Group: option.Limits, To: option.Of(&o.MaxTurns, option.AtLeastOne), Default: FromManifest, Usage: "Stop a job after `N` turns"},
	}...)
}

// UsualManifest is the manifest of commands that are given none.
const UsualManifest = "millhand.yaml"

// OrUsual ends the descriptions of commands that accept manifests.
const OrUsual = "Without an argument, the manifest is " + UsualManifest + " of the current directory."

// Parse reads the manifests of a command that requires at least one.
func (o *Options) Parse(command string, args []string) error {
	if len(args) == 0 {
		if _, err := os.Stat(filepath.Join(o.Dir, UsualManifest)); err != nil {
			return fmt.Errorf("%s requires a manifest, and %s was not found in the current directory: name one, or write one with millhand init", command, UsualManifest)
		}
		args = []string{UsualManifest}
	}
	o.Manifests = args
	return nil
}

// Plan loads the manifests of a command line with its flags. It asks no forge.
func Plan(ctx context.Context, w world.World, o Options) (*tasks.Plan, error) {
	load, err := loader(ctx, w, o)
	if err != nil {
		return nil, err
	}
	return load(nil)
}

// loader returns a function that loads the manifests of a command line, given the lists of
// their sources.
func loader(ctx context.Context, w world.World, o Options) (func(lists []tasks.Listed) (*tasks.Plan, error), error) {
	opts, err := TaskOptions(ctx, w, o.PolicyOptions)
	if err != nil {
		return nil, err
	}
	opts.Overrides, opts.RunID = o.Overrides, cmp.Or(o.Run, NewRunID(w))
	return func(lists []tasks.Listed) (*tasks.Plan, error) {
		opts.Lists = lists
		load := func() (*tasks.Plan, error) { return expand.Load(ctx, o.Manifests, opts) }
		if o.Prompt != nil {
			load = func() (*tasks.Plan, error) { return expand.LoadPrompt(ctx, o.Prompt, opts) }
		}
		plan, err := load()
		var problems problem.List
		switch {
		case errors.As(err, &problems):
			return nil, fault.Wrap(event.ExitUsage, fault.Refused{Problems: problems, Text: figures.Count(len(problems), "problem") + ": nothing was run"})
		case err != nil:
			return nil, NotLoaded(ctx, err)
		}
		return Lower(ctx, plan, o.PolicyOptions, opts)
	}, nil
}

// Timed limits the time of a run, which includes loading and the preflight; 0 is no limit. The
// cause of the context's end has the exit code.
func Timed(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, event.EndCause{Code: event.CodeRunTime, Reason: fmt.Sprintf("run timed out after %s", limit)})
}

// NotLoaded is the failure of a command whose input could not be read. If its context ended, the
// exit code is that of the signal or of the limit.
func NotLoaded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("%w; nothing was run", err)
	}
	return fault.Wrap(event.ExitUsage, err)
}

// Lower returns a plan whose profiles are limited to --max-profile.
func Lower(ctx context.Context, plan *tasks.Plan, o PolicyOptions, opts tasks.Options) (*tasks.Plan, error) {
	if o.MaxProfile == "" || o.Untrusted { // with --untrusted a policy does it
		return plan, nil
	}
	most, err := manifest.LoadProfile(ctx, o.MaxProfile, "", opts)
	if _, noFile := os.Stat(userfile.Resolve(opts.Dir, o.MaxProfile)); err != nil && noFile != nil { // a profile never replaces an unreadable file
		if at := slices.IndexFunc(plan.Profiles, func(p permission.Profile) bool { return p.Name == o.MaxProfile }); at >= 0 {
			most, err = plan.Profiles[at], nil
		}
	}
	if err != nil {
		return nil, fault.New(event.ExitUsage, "--max-profile %s: %w", o.MaxProfile, err)
	}
	return plan.Under(most), nil
}

// TaskOptions returns the options for loading a manifest: properties of the process,
// and the policies.
func TaskOptions(ctx context.Context, w world.World, o PolicyOptions) (opts tasks.Options, err error) {
	dir := o.In(w)
	if dir == "" {
		return opts, fault.New(event.ExitUsage, "the current directory is unknown: it may have been removed")
	}
	opts = tasks.Options{Dir: dir, Getenv: w.Getenv, Prices: pricetable.Saved(w), At: w.Now(), Stdin: sync.OnceValues(func() ([]byte, error) { return io.ReadAll(w.In) })}
	opts.Policies, err = readPolicies(ctx, w, o, opts)
	return opts, err
}

// ProfileOptions select a profile.
type ProfileOptions struct {
	PolicyOptions
	Profile  string // "" for preset full
	Manifest string // that can define profile; "" for none
}

// Fields are the options that choose a profile, which is otherwise the named one.
func (o *ProfileOptions) Fields(otherwise string) []option.Field {
	return []option.Field{
		{Name: "profile", To: &o.Profile, Default: otherwise, Usage: "Use `PROFILE`: a preset, a profile of the manifest, or a file"},
		{Name: "manifest", To: &o.Manifest, Usage: "Read profiles and tools from the manifest in `FILE`"},
		o.PolicyField(""),
	}
}

// Profile loads a profile, limited by the policies, which the returned options have.
func Profile(ctx context.Context, w world.World, o ProfileOptions) (p permission.Profile, opts tasks.Options, err error) {
	if opts, err = TaskOptions(ctx, w, o.PolicyOptions); err != nil {
		return p, opts, err
	}
	p, err = manifest.LoadProfile(ctx, cmp.Or(o.Profile, "full"), o.Manifest, opts)
	if err != nil {
		return p, opts, fault.Wrap(event.ExitUsage, err)
	}
	return opts.Policies.Under(p), opts, nil
}

// NewRunID returns a unique id that sorts by time.
func NewRunID(w world.World) string {
	var b [4]byte
	rand.Read(b[:])
	return w.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}
