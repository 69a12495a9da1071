package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// MaxPublications is the maximum number of jobs of a run that are published in parallel.
// They are limited separately: a job that only waits for a remote has no slot.
const MaxPublications = 4

// enqueue frees the slot of a job whose work is complete, and waits until the job can be
// published. The caller calls leave afterwards, in any case.
func (j *job) enqueue(ctx context.Context) (leave func(), end *ending.Stop) {
	if j.slot != nil {
		j.slot()
	}
	select {
	case j.run.publications <- struct{}{}:
		leave = func() { <-j.run.publications }
	case <-ctx.Done():
		leave = func() {}
	}
	if ctx.Err() != nil {
		return leave, ending.Of(ctx)
	}
	return leave, nil
}

// publishes reports whether there is a commit to publish.
func (l *landed) publishes() bool { return l.job.spec.Publish.Pushes() && l.made.Hash != "" }

// publish pushes the job's commit and publishes its pull request, if its task has
// publish.mode push or pr. A failure does not remove the commit and the patch.
func (l *landed) publish(ctx context.Context) *ending.Stop {
	if !l.publishes() {
		return nil
	}
	publication := l.publication()
	var err error
	if publication.Signing, err = l.signing(); err != nil {
		return ending.OfGit(ctx, "read the commit", err)
	}
	err = publication.Publish(ctx)
	var failed *publish.Failure
	switch {
	case errors.As(err, &failed):
		return &ending.Stop{Code: failed.Code, Detail: failed.Detail}
	case err != nil:
		return ending.Of(ctx)
	}
	return nil
}

// publication returns what is published of the job.
func (l *landed) publication() *publish.Publication {
	p := &publish.Publication{
		PushOptions: remote.PushOptions{Remote: l.job.start.Remote, Commit: l.made.Hash, Branch: l.made.Branch, Expect: l.job.start.Lease},
		From:        l.site.origin.Git, OnBase: l.site.InPlace, Base: l.site.base, Saved: "saved as a patch", Emit: l.job.emit,
	}
	if l.job.start.Earlier.Hash != "" {
		p.Saved = "on the branch"
	}
	if target := l.job.start.Pull; target.Client != nil {
		p.Pull = &publish.PullRequest{Target: target, Spec: *l.job.spec.Pull, Facts: l.facts()}
		known := l.job.history.Pull()
		p.Pull.Earlier = publish.Earlier(known.Earlier)
		switch {
		case known.Keep:
			p.Pull.Spec.IfExists = tasks.SkipIfExists
		case known.Adds && p.Pull.Spec.IfExists == tasks.ReplaceIfExists:
			p.Pull.Spec.IfExists = tasks.AppendIfExists // the first commit is described already
		}
	}
	return p
}

// facts returns the contents of the pull request's texts.
func (l *landed) facts() publish.Facts {
	spec, clean := l.job.spec, l.job.opts.Redact.Text
	f := publish.Facts{Run: l.job.opts.RunID, Name: clean(l.job.plan.Name), Task: spec.Task, Compared: publish.Compares(repos(l.job.plan))}
	if spec.Commit != nil {
		f.Message = l.message("")
	}
	if by := l.job.opts.About.StartedBy; by != nil {
		f.RunURL = clean(by.RunURL)
	}
	if l.result != nil {
		t := l.result.Totals
		f.Session = &publish.Session{
			Summary: clean(l.result.Final), Model: spec.ModelName, Profile: spec.Profile.Name, Turns: t.Turns, Denied: t.Denied, CostUSD: t.Cost.USD(),
		}
	}
	for _, c := range spec.Verify {
		v := publish.Verify{Name: clean(c.Name), Before: "not run"}
		if i := slices.IndexFunc(l.baseline, func(o event.Baseline) bool { return o.Name == c.Name }); i >= 0 {
			v.Before = l.baseline[i].Result()
		}
		f.Verify = append(f.Verify, v)
	}
	f.LeftOut = changes.SummarizeLeft(l.left)
	for i := range f.LeftOut {
		f.LeftOut[i].Path = clean(f.LeftOut[i].Path)
	}
	return f
}

// repos returns the repositories of the jobs of a plan.
func repos(plan *tasks.Plan) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range plan.Jobs {
			if !yield(plan.Jobs[i].Repo.Name) {
				return
			}
		}
	}
}

// landing describes how the job saves its changes, for a process that publishes them later;
// nil if it commits nothing.
func (j *job) landing(s *site) *event.Landing {
	c := j.spec.Commit
	if c == nil {
		return nil
	}
	l := &event.Landing{
		Publish: string(j.spec.Publish), Lease: j.start.Lease, OnBase: s.InPlace, Below: s.below,
		Branch: c.Branch, Message: j.message(s.base, "", ""), Exists: string(c.IfExists),
	}
	if s.InPlace {
		l.Branch = j.branch(s)
	}
	if c.Signed() || c.ByForge() {
		l.Sign = string(c.Sign)
	}
	if c.Author != (tasks.Person{}) {
		l.Author = c.Author.Name + " <" + c.Author.Email + ">"
	}
	at := remoteOf(j, s)
	if at.URL != "" {
		l.Remote = at.String()
	}
	if a, err := remote.ParseAddress(at.URL); err == nil {
		if i := slices.IndexFunc(j.plan.Forges, func(f tasks.Forge) bool { return strings.EqualFold(f.Host, a.Host) }); i >= 0 {
			l.Forge = string(j.plan.Forges[i].Kind)
		}
	}
	if pr := j.spec.Pull; pr != nil {
		l.PullRequest = &event.PullRequestSpec{
			Fork: forkOf(j.start.Pull), Base: cmp.Or(j.start.Pull.Base, pr.Base), Title: pr.Title, Body: pr.Body, Draft: pr.Draft,
			Labels: pr.Labels, Reviewers: pr.Reviewers, Assignees: pr.Assignees, Exists: string(pr.IfExists),
		}
	}
	return l
}

// forkOf returns OWNER/NAME of the fork that has the branch of a pull request; "" for none.
func forkOf(t publish.Target) string {
	if t.Fork == (publish.Fork{}) {
		return ""
	}
	return t.Fork.String()
}

// landEarlier returns the landing of a job whose work an earlier run, or an earlier process of
// this one, has committed.
func (j *job) landEarlier() *landed {
	c := j.start.Earlier
	j.emit(event.Event{Type: event.Committed, Commit: &c})
	l := &landed{job: j, site: &site{origin: j.start.Origin}, made: gitops.CommitResult{Hash: c.Hash, Branch: c.Branch}}
	if j.start.Own && j.history.Facts != nil {
		l.result, l.baseline = resultOf(j.history.Facts, j.spec.Schema), slices.Collect(maps.Values(j.history.Baseline))
	}
	return l
}

// pushedEarlier returns the reason of a job that only pushed.
func pushedEarlier(c event.Commit) string {
	return fmt.Sprintf("branch %s (%.10s) of an earlier run was pushed", c.Branch, c.Hash)
}
