package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/ecosystem/envfault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// baseline runs the verify commands before the agent starts, or uses the results of a job
// for which they would do the same. It ends the job if its environment can't run them, or
// if the results are not those that the task needs. Its time does not count for the job's
// time limit.
func (j *job) baseline(ctx context.Context, s *site) ([]event.Baseline, *ending.Stop) {
	if len(j.spec.Verify) == 0 || j.spec.Baseline == tasks.BaselineSkip || j.opts.NoBaseline {
		return nil, nil
	}
	began := j.opts.Now()
	defer func() { s.prepared = s.prepared.Add(j.opts.Now().Sub(began)) }()
	r := verifier{j, s}
	results, shared, end := j.run.before.share(ctx, r.key(), func() ([]event.Baseline, *ending.Stop) { return r.unchanged(ctx) })
	if end != nil {
		return nil, end
	}
	if shared {
		results = slices.Clone(results)
		for i := range results {
			b := &results[i]
			b.Shared = true
			b.OutputPath = (&outputFile{dir: j.outputs(), redact: j.opts.Redact}).copy(j.opts.Dir, b.OutputPath)
			j.emit(event.Event{Type: event.BaselineEnded, Baseline: b})
		}
	}
	return results, judge(j.spec.Baseline, results)
}

// key identifies everything that the results depend on; "" if no other job can
// use them, because it works in the same tree.
func (r verifier) key() string {
	j, s := r.job, r.site
	if s.InPlace || s.hooks.Has(tasks.JobStart) { // which know the job
		return ""
	}
	l := j.spec.Limits
	key, err := json.Marshal([]any{
		s.origin.Git.Common, s.base, s.below, j.spec.Setup, j.spec.Verify, j.spec.SetupEnv, j.spec.Profile, l.Disk, l.Memory, l.Processes,
	})
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(key), s.Tree.Root(), "") // in rules
}

// unchanged runs the verify commands, and restores the tree if it is the job's own.
// In the user's tree, what they leave stays, as it does after the agent's work.
func (r verifier) unchanged(ctx context.Context) (results []event.Baseline, end *ending.Stop) {
	j, s := r.job, r.site
	if !s.InPlace {
		before, err := r.treeAfterSetup(ctx)
		if err != nil {
			return nil, j.notVerified(ctx, err)
		}
		defer func() {
			if err := s.Tree.Restore(context.WithoutCancel(ctx), before); err != nil && end == nil {
				end = j.notVerified(ctx, fmt.Errorf("undo what verify commands changed: %w", err))
			}
		}()
	}
	if s.InPlace && verifiesWorkspace(j.spec) {
		end = s.diff.By(ctx, event.ByBaseline, false, func(ctx context.Context) (end *ending.Stop) {
			results, end = r.each(ctx)
			return end
		})
		return results, end
	}
	return r.each(ctx)
}

// each runs the verify commands.
func (r verifier) each(ctx context.Context) (results []event.Baseline, end *ending.Stop) {
	j, s := r.job, r.site
	for _, v := range j.spec.Verify {
		r.announce(event.BaselineCommand, v, 0)
		res, err := r.verify(ctx, v)
		if err != nil {
			return nil, j.notVerified(ctx, err)
		}
		b := event.Baseline{Name: res.Name, Passed: res.Passed, ExitCode: res.ExitCode, ElapsedMS: res.ElapsedMS, Tail: res.Tail, In: res.In, Fault: s.faultOf(v.Run, res), TimeoutMS: res.TimeoutMS, OutputPath: res.OutputPath}
		j.emit(event.Event{Type: event.BaselineEnded, Baseline: &b})
		results = append(results, b)
	}
	return results, nil
}

// treeAfterSetup returns the state of the job's own tree.
func (r verifier) treeAfterSetup(ctx context.Context) (*state.FullState, error) {
	from := r.site.Before
	if len(r.job.spec.Setup) > 0 || r.site.below != "" || r.site.hooks.Has(tasks.JobStart) {
		from = nil
	}
	return r.site.Tree.FullState(ctx, from)
}

// faultOf returns why the environment made a command fail; nil if it did not.
func faultOf(line string, v ran) *event.Fault {
	f, ok := envfault.Find(line, v.ExitCode, v.output)
	if v.Passed || !ok {
		return nil
	}
	if f.Kind == envfault.Network && v.In == event.InClean { // setup has run
		f.Fix = "in a clean checkout, setup and verify have the network of the profile: allow the host there: network: [HOST]"
	}
	return &event.Fault{Kind: string(f.Kind), Evidence: f.Evidence, Fix: f.Fix}
}

// faultOf is faultOf for a verify command in a site: the fix names the directories of package
// managers that are only below the workspace.
func (s *site) faultOf(line string, v ran) *event.Fault {
	f := faultOf(line, v)
	if f == nil {
		return nil
	}
	if found, err := preflight.DetectIn(s.space.Dir()); err == nil {
		f.Fix = ecosystem.InDirs(f.Fix, found, []string{line})
	}
	return f
}

// setupFault describes what the environment lacks for a setup command that failed; "" if
// that is not known.
func setupFault(line string, v ran) string {
	f := faultOf(line, v)
	switch {
	case f == nil:
		return ""
	case f.Kind == string(envfault.Network):
		return fmt.Sprintf(": %s (network missing); check that this machine reaches the host, and allow the hosts that setup needs in the profile: setup_network: [HOST]", f.Evidence)
	}
	return fmt.Sprintf(": %s (%s missing); %s", f.Evidence, f.Kind, f.Fix)
}

// verifyFault describes what the environment lacks for the first failed verify command that
// shows it; "" if none does.
func (s *site) verifyFault(commands []tasks.Verify, failed []ran) string {
	for _, v := range failed {
		at := slices.IndexFunc(commands, func(c tasks.Verify) bool { return c.Name == v.Name })
		if f := s.faultOf(commands[at].Run, v); f != nil {
			return fmt.Sprintf("; verify %s can't run here: %s (%s missing); %s", v.Name, f.Evidence, f.Kind, f.Fix)
		}
	}
	return ""
}

// judge returns the stop of a job that does not start because of the results; nil if it
// does.
func judge(want tasks.Baseline, results []event.Baseline) *ending.Stop {
	var failed []string
	for _, b := range results {
		if b.Fault != nil {
			return &ending.Stop{Code: event.CodeEnvironment, Detail: fmt.Sprintf(
				"verify %s can't run here, whatever the agent does: %s (%s missing); %s; or set baseline: skip if the task itself adds what is missing",
				b.Name, b.Fault.Evidence, b.Fault.Kind, b.Fault.Fix)}
		}
		if b.TimeoutMS > 0 && want != tasks.BaselineMustFail {
			return &ending.Stop{Code: event.CodeEnvironment, Detail: fmt.Sprintf(
				"verify %s %s before the agent started: this machine is too slow for it, or it hangs; set a longer time:, or baseline: must_fail if the task is to fix that, or baseline: skip", b.Name, b.Exit())}
		}
		if !b.Passed {
			failed = append(failed, b.Name)
		}
	}
	switch {
	case want == tasks.BaselineMustFail && len(failed) == 0:
		return &ending.Stop{Code: event.CodeBaseline, Detail: "baseline must_fail: every verify command passes before the agent starts, so there is nothing to fix, or the commands don't show it"}
	case want == tasks.BaselineMustPass && len(failed) > 0:
		return &ending.Stop{Code: event.CodeBaseline, Detail: fmt.Sprintf("baseline must_pass: verify %s fails before the agent starts: fix it first, or set baseline: run", strings.Join(failed, ", "))}
	}
	return nil
}

// maxBaselines is the maximum number of failed commands with their output in the prompt.
const maxBaselines = 5

// baselineText lists for the model which verify commands fail before it starts; "" if none
// does. Complete outputs are in a report directory.
func baselineText(results []event.Baseline, reports *files.Dir) string {
	failed := slices.DeleteFunc(slices.Clone(results), func(b event.Baseline) bool { return b.Passed })
	if len(failed) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nBefore your changes, these verify commands of the task fail (%d of %d):\n", len(failed), len(results))
	for i, f := range failed {
		tail := ""
		if i < maxBaselines {
			tail = "\n" + strings.Trim(withOutput(reports, f.Tail, f.OutputPath), "\n")
		}
		fmt.Fprintf(&b, "\n<check name=%q result=%q>%s\n</check>\n", f.Name, f.Exit(), tail)
	}
	return b.String()
}

// baselines has the results of verify commands before agents start, which jobs share.
type baselines struct {
	mu   sync.Mutex
	runs map[string]*baselineRun
}

// baselineRun is a job's run of its verify commands.
type baselineRun struct {
	done     chan struct{} // closed at its end
	complete bool          // there are results
	results  []event.Baseline
}

// share returns the results for a key: those of another job, or those of run. If another
// job is running the commands, it waits; if that job is cancelled or fails, the next one
// runs them. An empty key is not shared.
func (b *baselines) share(ctx context.Context, key string, run func() ([]event.Baseline, *ending.Stop)) (results []event.Baseline, shared bool, end *ending.Stop) {
	if key == "" {
		results, end = run()
		return results, false, end
	}
	for {
		r, mine := b.take(key)
		if mine {
			results, end = b.complete(key, r, run)
			return results, false, end
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, false, ending.Of(ctx)
		}
		if r.complete {
			return r.results, true, nil
		}
	}
}

// take returns the run for a key, and whether the caller has to do it.
func (b *baselines) take(key string) (r *baselineRun, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.runs[key]; r != nil {
		return r, false
	}
	if b.runs == nil {
		b.runs = map[string]*baselineRun{}
	}
	r = &baselineRun{done: make(chan struct{})}
	b.runs[key] = r
	return r, true
}

// complete does a run. Without results, also after a panic, another job can take it.
func (b *baselines) complete(key string, r *baselineRun, run func() ([]event.Baseline, *ending.Stop)) (results []event.Baseline, end *ending.Stop) {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !r.complete {
			delete(b.runs, key)
		}
		close(r.done)
	}()
	results, end = run()
	r.results, r.complete = results, end == nil
	return results, end
}
