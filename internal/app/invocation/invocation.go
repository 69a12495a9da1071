// Package invocation has the options of a run, among them those of package load: what the flags of a command line
// set ([Options]), and what a saved run was started with ([Of], [Resumed]). The options also have two values that no flag sets
// and only callers in this process pass: Accounts and Change. It loads no manifest and runs nothing: packages checks and runs
// do, with these options.
package invocation

import (
	"context"
	"errors"
	"slices"

	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/tasks"
)

// Options are what the flags of "millhand run" set.
type Options struct {
	Plan        load.Options
	Prompt      load.Prompt
	ID          string // of the run; "" for a new one
	ReportDir   string // "" for the default
	Record      string // "" for no recording
	Sandbox     string // mode
	Keep        bool
	NoBaseline  bool
	MaxFailures int // 0 for no limit
	FailFast    bool
	FailOn      event.FailOn
	Log         view.Options
	JSON        bool // print report.json instead of the table
	DryRun      bool
	Verbose     bool

	Resume        string   // id or directory of a run; "" for a new one
	FollowUp      FollowUp // another prompt for one job; the zero value for none
	Replay        string   // id or directory of a run whose models are replayed; "" for none
	OnlyFailed    bool
	AcceptChanges bool
	After         []string // runs of earlier waves, in addition to those that are found
	Invocation    *event.Invocation

	Change   func(context.Context, *tasks.Plan) (*tasks.Plan, error) // returns another plan, which is run instead; nil for none
	Accounts *models.Accounts                                        // shared with other runs of this process; nil for none
}

// LogFields are the options of the output.
func (o *Options) LogFields() []option.Field {
	return []option.Field{
		{Name: "json", Group: option.Outputs, To: &o.JSON, Usage: "Print the report as JSON"},
		{Name: "quiet", Short: "q", Group: option.Outputs, To: &o.Log.Quiet, Usage: "Print errors and one line with the result only"},
		{Name: "verbose", Short: "v", Group: option.Outputs, To: &o.Verbose, Usage: "Print all messages, as --log-level debug does"},
		{Name: "log-format", Group: option.Outputs, To: &o.Log.Format, Usage: "Print the log in `FORMAT`: auto, console, json or github"},
		{Name: "log-level", Group: option.Outputs, To: &o.Log.Level, Usage: "Print messages of `LEVEL` and above: debug, info, warn or error"},
	}
}

// New returns the options of a run that nothing has set.
func New() *Options {
	o := &Options{Sandbox: string(sandbox.Auto), FailOn: event.FailOnAny}
	o.Log.Format, o.Log.Level = "auto", "info"
	return o
}

// Fields are the options that the command line and the saved invocation of a run set.
func (o *Options) Fields() []option.Field {
	return slices.Concat(o.Plan.JobFields(), o.Prompt.Fields(), o.LogFields(), []option.Field{
		{Name: "max-time", Group: option.Limits, To: option.Of(&o.Plan.MaxTime, option.Period), Default: load.FromManifest, Usage: "Limit the time of the run to `DURATION`, for example 90m"},
		levels.Field(&o.Sandbox, option.Permissions),
		{Name: "fail-fast", Group: option.Limits, To: &o.FailFast, Usage: "Stop scheduling jobs after the first failure"},
		{Name: "max-failures", Group: option.Limits, To: option.Of(&o.MaxFailures, option.AtLeastOne), Default: "any number", Usage: "Stop scheduling jobs after `N` failures"},
		{Name: "dry-run", Group: option.Outputs, To: &o.DryRun, Usage: "Print the plan without running it, as millhand plan does"},
		{Name: "report-dir", Group: option.Outputs, To: &o.ReportDir, Default: ".millhand/runs/RUN-ID", Usage: "Write the reports into `DIR`"},
		{Name: "keep", Group: option.Outputs, To: &o.Keep, Usage: "Keep the worktrees of jobs"},
		{Name: "no-baseline", Group: option.Limits, To: &o.NoBaseline, Usage: "Do not run verify commands before the agent starts"},
		FailOnField(&o.FailOn, option.Outputs),
		{Name: "record", Group: option.Outputs, To: &o.Record, Usage: "Record the requests and responses of models in `FILE`, for --model replay:FILE"},
		{Name: "resume", Group: option.Tasks, To: &o.Resume, Usage: "Continue the unfinished jobs of `RUN`: its report directory or id"},
		AfterField(&o.After, "those in .millhand/runs and --report-dir", "Count the jobs of `RUN`, a report directory or id, to the earlier waves of the rollout (repeatable)"),
		{Name: "replay", Group: option.Tasks, To: &o.Replay, Usage: "Replay the models of `RUN` and compare results and patches: its report directory or id"},
		{Name: "only-failed", Group: option.Tasks, To: &o.OnlyFailed, Usage: "With --resume, start the jobs that did not pass again"},
		{Name: "accept-changes", Group: option.Tasks, To: &o.AcceptChanges, Usage: "With --resume, leave out the jobs whose tasks have changed"},
	})
}

// Parse reads the arguments, which are manifests, and checks which options exclude each other.
func (o *Options) Parse(args []string) error {
	switch {
	case o.Resume == "" && (o.OnlyFailed || o.AcceptChanges):
		return errors.New("--only-failed and --accept-changes require --resume RUN")
	case o.Replay != "" && (o.Resume != "" || o.DryRun || o.JSON || o.Record != "" || o.Prompt.Text != nil):
		return errors.New("--replay can't be combined with --resume, --dry-run, --json, --record and -p")
	case o.Resume != "" && o.DryRun:
		return errors.New("--dry-run can't be combined with --resume")
	case o.FailFast:
		o.MaxFailures = 1
	}
	if o.Verbose {
		o.Log.Level = "debug"
	}
	o.Plan.Paths = []load.Path{{Flag: "--report-dir", Path: o.ReportDir}, {Flag: "--record", Path: o.Record}, {Flag: "--sources", Path: o.Plan.Sources.File}}
	if o.Resume != "" || o.Replay != "" {
		o.Plan.Manifests = args
		return nil
	}
	if err := o.Prompt.Check(args, o.JSON); err != nil || o.Prompt.Text != nil {
		o.Plan.Paths = append(o.Plan.Paths, load.Path{Flag: "--output-schema", Path: o.Prompt.SchemaFile()}, load.Path{Flag: "--output-file", Path: o.Prompt.Output})
		return err
	}
	return o.Plan.Parse("run", args)
}

// UsePrompt makes a manifest of the flags of -p, if there are any.
func (o *Options) UsePrompt(ctx context.Context, w world.World) (err error) {
	if o.Prompt.Text == nil || o.Resume != "" { // that of a run is in its report directory
		return nil
	}
	o.ID = load.NewRunID(w)
	o.Plan.Prompt, err = o.Prompt.Manifest(ctx, w, o.ID, o.Plan)
	return err
}

// FailOnField is the option --fail-on of commands that exit as a run does.
func FailOnField(to *event.FailOn, group string) option.Field {
	return option.Field{
		Name: "fail-on", Group: group, To: option.Of(to, event.ParseFailOn),
		Usage: "Exit with an error only on `FAILURES`: any, all, verify, policy, environment, baseline, never or N% of the jobs (policy stops, credentials and internal errors always count)",
	}
}

// AfterField is the option that names runs of earlier waves, in addition to those that are found.
func AfterField(to *[]string, found, usage string) option.Field {
	return option.Field{Name: "after", Group: option.Tasks, To: (*option.Texts)(to), Default: found, Usage: usage}
}
