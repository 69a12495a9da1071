package trials

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/ablation"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
)

// How often the verify commands run on the same files before the first trial. On the changed files, they have also passed after
// the attempt.
const (
	baseRuns   = 3
	resultRuns = 2
	finalRuns  = 1 // without all unneeded hunks
)

// maxBytes is the maximum size of the changed files before and after, which are held in memory.
const maxBytes = 128 << 20

// Account accounts for the hunks of a job's change. It returns nil for a change without files. What it can't find out, it reports as
// untried; the stop is that of a job that was ended meanwhile. It adds the results of its trials to those of the job that are known, and
// repeats none of them.
func Account(ctx context.Context, s *site.Site, j *site.Job, cs *state.ChangeSet, known Results) (*event.Hunks, *ending.Stop) {
	if len(cs.Changes) == 0 {
		return nil, nil
	}
	began := j.Now()
	limit := j.TimeLimit.Within(j.Spec.Ablate.Time)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := newRunner(within, s, j, known)
	a := &account{runner: r, job: j}
	err := a.find(within, s, cs)
	if closed := r.close(); err == nil {
		err = closed
	}
	if ctx.Err() != nil {
		return nil, ending.Of(ctx)
	}
	switch {
	case within.Err() != nil:
		a.hunks.Reason = fmt.Sprintf("timed out after %s", limit.Round(time.Millisecond))
	case err != nil:
		a.hunks.Reason = err.Error()
		j.Warn("account for the hunks of the change: " + err.Error())
	}
	a.hunks.Runs, a.hunks.ElapsedMS = r.runs, j.Now().Sub(began).Milliseconds()
	a.complete()
	j.Emit(event.Event{Type: event.AblationEnded, Session: j.SessionID(j.Spec.ID), Hunks: &a.hunks})
	return &a.hunks, nil
}

// account is what is found out about a change.
type account struct {
	runner   *runner
	job      *site.Job
	change   *ablation.Change
	verdicts []ablation.Verdict
	tests    []ablation.Test
	hunks    event.Hunks
}

// find reads the change and runs the trials. An error is a fault of the machine, or of the checkouts.
func (a *account) find(ctx context.Context, s *site.Site, cs *state.ChangeSet) error {
	files, err := a.read(ctx, s, cs)
	if err != nil {
		return err
	}
	a.change = ablation.Read(files)
	a.tests = a.change.Tests()
	a.hunks.ProvesNone = !a.change.Changes()
	a.hunks.MaxRuns = baseRuns + resultRuns + a.change.MaxProofs() + a.change.MaxTrials() + finalRuns
	a.job.Emit(event.Event{Type: event.AblationStarted, Session: a.job.SessionID(a.job.Spec.ID), Ablation: &event.Ablation{
		Hunks: a.change.Count(), Tests: len(a.tests), MaxRuns: a.hunks.MaxRuns, TimeMS: a.job.Spec.Ablate.Time.Milliseconds(), Jobs: a.job.Spec.Ablate.Jobs,
	}})
	base, ok := a.check() //nolint:contextcheck // the runner has that context
	if !ok {
		return a.runner.err
	}
	if a.tests, ok = a.prove(base); !ok { //nolint:contextcheck // see above
		return a.runner.err
	}
	a.verdicts = a.change.Search(a.runner.try)
	return a.confirm() //nolint:contextcheck // see above
}

// read returns the changed files before and after.
func (a *account) read(ctx context.Context, s *site.Site, cs *state.ChangeSet) ([]ablation.File, error) {
	t, err := a.runner.tree(ctx)
	if err != nil {
		return nil, err
	}
	defer a.runner.give(t)
	var files []ablation.File
	size := 0
	for _, c := range cs.Changes {
		f := ablation.File{Path: c.Path}
		if f.Before, err = t.base(c.Path); err != nil {
			return nil, err
		}
		if f.After, err = ablation.ContentIn(s.Tree.Root(), c.Path); err != nil {
			return nil, err
		}
		if size += len(f.Before.Data) + len(f.After.Data); size > maxBytes {
			return nil, fmt.Errorf("the changed files are larger than %d MiB", maxBytes>>20)
		}
		files = append(files, f)
	}
	return files, nil
}

// check runs all commands several times on the base and on the changed files, and leaves out those that are flaky, or that
// don't pass on the changed files in a clean checkout. It returns the commands that fail on the base.
func (a *account) check() (base []string, ok bool) {
	r := a.runner
	results := map[string][]bool{} // of commands on the base and on the changed files, whether they passed
	run := func(what string, tree ablation.Tree, times int) bool {
		var all []trial
		for n := range times {
			all = append(all, r.check(tree, n))
		}
		for i, t := range all {
			failed, ok := r.result(t, func(n int) []trial { return all[i+1 : min(len(all), i+1+n)] })
			if !ok {
				return false
			}
			for _, v := range r.verify {
				results[what+v.Name] = append(results[what+v.Name], !slices.Contains(failed, v.Name))
			}
		}
		return true
	}
	if !run("result ", a.change.Tree(nil), resultRuns) || !run("base ", a.change.Tree(a.change.Base()), baseRuns) {
		return nil, false
	}
	var broken []string
	sound := r.verify[:0:0]
	for _, v := range r.verify {
		after, before := results["result "+v.Name], results["base "+v.Name]
		switch {
		case differ(before) || differ(after):
			a.hunks.Flaky = append(a.hunks.Flaky, v.Name)
		case !after[0]:
			broken = append(broken, v.Name)
		default:
			if sound = append(sound, v); !before[0] {
				base = append(base, v.Name)
			}
		}
	}
	if r.verify = sound; len(broken) > 0 {
		a.hunks.Reason = fmt.Sprintf("verify %s fails in a clean checkout of the changes, and counts for nothing", textcut.List(broken))
	}
	if len(sound) == 0 && len(a.hunks.Flaky) > 0 {
		a.hunks.Reason = strings.TrimPrefix(a.hunks.Reason+"; flaky: "+textcut.List(a.hunks.Flaky), "; ")
	}
	return base, len(sound) > 0
}

func differ(results []bool) bool {
	return slices.Contains(results, true) && slices.Contains(results, false)
}

// prove finds out which tests fail without the change, by the commands that pass on the base.
func (a *account) prove(failing []string) (tests []ablation.Test, ok bool) {
	r := a.runner
	all := r.verify
	r.verify = nil
	for _, v := range all {
		if !slices.Contains(failing, v.Name) {
			r.verify = append(r.verify, v)
		}
	}
	defer func() { r.verify = all }()
	if len(r.verify) == 0 {
		return a.tests, true
	}
	ok = true
	tests = a.change.Prove(func(t ablation.Tree, ahead func(int) []ablation.Tree) (failed string, going bool) {
		failed, ok = r.try(t, ahead)
		return failed, ok
	})
	for i := range tests {
		if fails := tests[i].Fails; fails != nil && !*fails && len(failing) > 0 {
			tests[i].Fails = nil // another command may need it
		}
	}
	return tests, ok
}

// confirm runs verify once more without all unneeded hunks: what does not pass then was found by flaky commands.
func (a *account) confirm() error {
	undone := ablation.Set{}
	for i, v := range a.verdicts {
		if v.State == ablation.Unneeded {
			undone[i] = true
		}
	}
	if len(undone) == 0 || a.runner.err != nil {
		return a.runner.err
	}
	failed, ok := a.runner.result(a.runner.check(a.change.Tree(undone), 0), func(int) []trial { return nil })
	if ok && len(failed) == 0 {
		return nil
	}
	for i := range undone {
		a.verdicts[i].State = ablation.Untried
	}
	if ok {
		a.hunks.Flaky = append(a.hunks.Flaky, failed...)
		a.hunks.Reason = fmt.Sprintf("verify %s passed and failed without the same hunks", textcut.List(failed))
	}
	return a.runner.err
}

// maxEntries is the maximum length of a list of the account, and maxLine that of a line in it.
const (
	maxEntries = 1000
	maxLine    = 200
)

// complete makes the lists of the account.
func (a *account) complete() {
	h := &a.hunks
	if a.change == nil {
		return
	}
	var rest []event.Hunk
	for _, r := range a.change.Results(a.verdicts) {
		entry := event.Hunk{Path: r.Path, Kind: string(r.Kind), Line: r.Line, Added: r.Added, Removed: r.Removed, State: string(r.State), By: r.By}
		switch r.State {
		case ablation.Needed:
			h.Needed++
		case ablation.Unneeded:
			h.Unneeded++
		case ablation.Untried:
			h.Untried++
		}
		h.List = append(h.List, entry)
	}
	if len(h.List) > maxEntries {
		h.List = slices.DeleteFunc(h.List, func(e event.Hunk) bool {
			if e.State == string(ablation.Needed) {
				rest = append(rest, e)
			}
			return e.State == string(ablation.Needed)
		})
		h.List = append(h.List, rest...)
	}
	for _, t := range a.tests {
		h.Tests = append(h.Tests, event.ProvedTest{Path: t.Path, Name: t.Name, Added: t.Added, FailsOnBase: t.Fails})
	}
	for _, l := range a.change.Losses() {
		h.Assertions = append(h.Assertions, event.LostAssertion{Path: l.Path, Kind: l.Kind, Line: l.Line, Was: textcut.Head(l.Was, maxLine, "…"), Now: textcut.Head(l.Now, maxLine, "…")})
	}
	h.Omitted = cut(&h.List) + cut(&h.Tests) + cut(&h.Assertions)
}

// cut shortens a list, and returns by how many entries.
func cut[T any](list *[]T) int {
	more := max(len(*list)-maxEntries, 0)
	*list = (*list)[:len(*list)-more]
	return more
}
