package site

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// Baseline runs the verify commands before the agent starts, or uses the results of a job
// for which they would do the same. It ends the job if its environment can't run them, or
// if the results are not those that the task needs. Its time does not count for the job's
// time limit.
func (r Verifier) Baseline(ctx context.Context) ([]event.Baseline, *ending.Stop) {
	j := r.Site.job
	if len(j.Spec.Verify) == 0 || j.Spec.Baseline == tasks.BaselineSkip || j.opts.NoBaseline {
		return nil, nil
	}
	defer j.TimeLimit.Pause()()
	results, shared, end := j.run.baselines.Share(ctx, r.key(), func() ([]event.Baseline, *ending.Stop) { return r.unchanged(ctx) })
	if end != nil {
		return nil, end
	}
	if shared {
		results = slices.Clone(results)
		for i := range results {
			b := &results[i]
			b.Shared = true
			b.OutputPath = commands.CopyOutput(j.Outputs(), j.opts.Redact, j.opts.Dir, b.OutputPath)
			j.Emit(event.Event{Type: event.BaselineEnded, Baseline: b})
		}
	}
	return results, commands.Judge(j.Spec.Baseline, results)
}

// key identifies everything that the results depend on; "" if no other job can
// use them, because it works in the same tree.
func (r Verifier) key() string {
	s := r.Site
	j := s.job
	if s.InPlace || s.Hooks.Has(tasks.JobStart) { // which know the job
		return ""
	}
	if j.Untrusted != nil && (len(j.Spec.Setup) > 0 || confinement.HasNetwork(j.Spec.Profile)) { // which has to know its connections
		return ""
	}
	l := j.Spec.Limits
	key, err := json.Marshal([]any{
		s.Origin.Git.Common, s.Base, s.Below, j.Spec.Setup, j.Spec.Verify, j.Spec.SetupEnv, j.Spec.Profile, l.Disk, l.Memory, l.Processes,
	})
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(key), s.Tree.Root(), "") // in rules
}

// unchanged runs the verify commands, and restores the tree if it is the job's own.
// In the user's tree, what they leave stays, as it does after the agent's work.
func (r Verifier) unchanged(ctx context.Context) (results []event.Baseline, end *ending.Stop) {
	s := r.Site
	j := s.job
	if !s.InPlace {
		before, err := r.TreeAfterSetup(ctx)
		if err != nil {
			return nil, j.NotVerified(ctx, err)
		}
		defer func() {
			if err := s.Tree.Restore(context.WithoutCancel(ctx), before); err != nil && end == nil {
				end = j.NotVerified(ctx, fmt.Errorf("undo what verify commands changed: %w", err))
			}
		}()
	}
	if s.InPlace && verifiesWorkspace(j.Spec) {
		end = s.Diff.By(ctx, event.ByBaseline, false, func(ctx context.Context) (end *ending.Stop) {
			results, end = r.each(ctx)
			return end
		})
		return results, end
	}
	return r.each(ctx)
}

// each runs the verify commands.
func (r Verifier) each(ctx context.Context) (results []event.Baseline, end *ending.Stop) {
	s := r.Site
	j := s.job
	for _, v := range j.Spec.Verify {
		r.announce(event.BaselineCommand, v, 0)
		res, err := r.verify(ctx, v)
		if err != nil {
			return nil, j.NotVerified(ctx, err)
		}
		b := event.Baseline{
			Name: res.Name, Passed: res.Passed, ExitCode: res.ExitCode, ElapsedMS: res.ElapsedMS, Tail: res.Tail, In: res.In,
			Fault: r.faultOf(v.Run, res), TimeoutMS: res.TimeoutMS, OutputPath: res.OutputPath,
		}
		j.Emit(event.Event{Type: event.BaselineEnded, Baseline: &b})
		results = append(results, b)
	}
	return results, nil
}

// TreeAfterSetup returns the state of the job's own tree.
func (r Verifier) TreeAfterSetup(ctx context.Context) (*state.FullState, error) {
	from := r.Site.Before
	if len(r.Site.job.Spec.Setup) > 0 || r.Site.Below != "" || r.Site.Hooks.Has(tasks.JobStart) {
		from = nil
	}
	return r.Site.Tree.FullState(ctx, from)
}

// faultOf is faultOf for a verify command in a site: the fix names the directories of package
// managers that are only below the workspace.
func (r Verifier) faultOf(line string, v commands.Ran) *event.Fault {
	f := commands.FaultOf(line, v)
	if f == nil {
		return nil
	}
	if found, err := ecosystem.DetectAll(r.Site.Space.Dir()); err == nil {
		f.Fix = ecosystem.InDirs(f.Fix, found, []string{line})
	}
	return f
}

// Missing describes what the environment lacks for the first failed verify command that
// shows it; "" if none does.
func (r Verifier) Missing(commands []tasks.Verify, failed []commands.Ran) string {
	for _, v := range failed {
		at := slices.IndexFunc(commands, func(c tasks.Verify) bool { return c.Name == v.Name })
		if f := r.faultOf(commands[at].Run, v); f != nil {
			return fmt.Sprintf("; verify %s can't run here: %s (%s missing); %s", v.Name, f.Evidence, f.Kind, f.Fix)
		}
	}
	return ""
}
