package invocation

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/printable"
)

// FollowUp is another prompt for a job of a run.
type FollowUp struct {
	Job, Prompt string
	By          *Following // nil unless millhand follow started it
}

// Following is what millhand follow adds to a follow-up prompt; without a prompt, it continues
// one that was killed.
type Following struct {
	Onto     bool      // the job is rebased
	CostUSD  money.USD // of this prompt; 0 for no limit
	Policies []string
}

// Resumed returns the options of a run that is resumed: those that it was started with,
// except for output, concurrency and the budget of the run. Without manifests among the
// arguments these are its own too, relative to the directory that it was started in.
func Resumed(o Options, run *event.Run) (Options, error) {
	if run.Invocation == nil {
		return o, errors.New("the run does not say how it was started: earlier releases can't be resumed")
	}
	own := *New()
	args, _, err := option.Read(own.Fields(), run.Invocation.Args)
	switch {
	case len(o.Plan.Manifests) > 0 && own.Prompt.Text != nil:
		return o, fmt.Errorf("the run has a prompt (-p) and accepts no manifest, got %q", o.Plan.Manifests[0])
	case len(o.Plan.Manifests) > 0:
		args = o.Plan.Manifests
	default: // before Parse looks for a manifest that no argument names
		own.Plan.Dir = run.Invocation.Dir
		if _, err := os.Stat(own.Plan.Dir); err != nil {
			return o, fmt.Errorf("the directory that the run was started in: %w; name its manifests: millhand run MANIFEST... --resume RUN", err)
		}
	}
	if err == nil {
		err = own.Parse(args)
	}
	if err != nil {
		return o, fmt.Errorf("the flags that the run was started with: %w", err)
	}
	own.Log, own.JSON, own.Invocation, own.Plan.Run = o.Log, o.JSON, run.Invocation, run.ID
	own.OnlyFailed, own.AcceptChanges, own.FollowUp = o.OnlyFailed, o.AcceptChanges, o.FollowUp
	if own.Record != "" && own.Plan.Dir != "" {
		own.Record = userfile.Resolve(own.Plan.Dir, own.Record)
	}
	own.Plan.Sources.Recorded, own.Plan.Sources.Only = run, !o.AcceptChanges
	if run.ForkedFrom != nil {
		own.Record = "" // of the other run
	}
	if o.Plan.Parallel > 0 {
		own.Plan.Parallel = o.Plan.Parallel
	}
	if o.Plan.MaxCost > 0 {
		own.Plan.MaxCost = o.Plan.MaxCost
	}
	return own, nil
}

// Of returns the options that a reopened run was started with.
func Of(r savedrun.Reopened) (Options, error) {
	o, err := Resumed(*New(), r.Past.Run)
	if err == nil && o.Prompt.Text != nil {
		o.Plan.Prompt, err = r.Out.Manifest()
	}
	return o, err
}

// Again returns the options that resume a run of a rollout, with the flags of this invocation
// that a resumed run accepts.
func Again(w world.World, o Options, dir string) Options {
	plain := *New()
	plain.Resume, plain.Log, plain.JSON, plain.Verbose = dir, o.Log, o.JSON, o.Verbose
	plain.Plan.Dir, plain.Plan.Manifests = o.Plan.Dir, o.Plan.Manifests
	plain.Plan.Parallel, plain.Plan.MaxCost = o.Plan.Parallel, o.Plan.MaxCost
	if !o.Log.Quiet {
		fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("continuing run %s of the rollout, which was killed or interrupted", filepath.Base(dir))))
	}
	return plain
}

// ofThisProcess are the flags of millhand run that are not the run's.
var ofThisProcess = []string{"resume", "only-failed", "accept-changes", "jobs", "max-cost", "json", "quiet", "verbose", "log-format", "log-level"}

// SameFlags refuses flags of millhand run --resume that differ from those that the run was started
// with.
func SameFlags(o Options, run *event.Run) error {
	if o.Invocation == nil || run.Invocation == nil {
		return nil // another command continues the run
	}
	_, now, err := option.Read(New().Fields(), o.Invocation.Args)
	if err != nil {
		return err
	}
	_, then, err := option.Read(New().Fields(), run.Invocation.Args)
	if err != nil {
		return fmt.Errorf("the flags that the run was started with: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, given := then[name]; !slices.Contains(ofThisProcess, name) && (!given || was != now[name]) {
			return fmt.Errorf("a run is resumed with the flags that it was started with, and --%s is not one of them or has another value: of other flags only "+
				"--jobs, --max-cost and those of the output can be given", name)
		}
	}
	return nil
}
