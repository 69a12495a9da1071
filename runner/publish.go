package runner

import (
	"context"
	"errors"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// publishes reports whether there is a commit to publish.
func (l *landed) publishes() bool { return l.job.Spec.Publish.Pushes() && l.made.Hash != "" }

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
		PushOptions: remote.PushOptions{Remote: l.job.Start.Remote, Commit: l.made.Hash, Branch: l.made.Branch, Expect: l.job.Start.Lease},
		From:        l.site.Origin.Git, OnBase: l.site.InPlace, Base: l.site.Base, Saved: "saved as a patch", Emit: l.emit,
	}
	if l.job.Start.Earlier.Hash != "" {
		p.Saved = "on the branch"
	}
	if target := l.job.Start.Pull; target.Client != nil {
		p.Pull = &publish.PullRequest{Target: target, Spec: *l.job.Spec.Pull, Facts: l.facts()}
		known := l.job.History.Pull()
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

// emit emits an event of the publication.
func (l *landed) emit(e event.Event) {
	if p := e.Published; p != nil && p.PullRequest != nil {
		l.pull = p.PullRequest.Number
	}
	l.job.Emit(e)
}

// facts returns the contents of the pull request's texts.
func (l *landed) facts() publish.Facts {
	spec, clean := l.job.Spec, l.job.opts.Redact.Text
	f := publish.Facts{Run: l.job.opts.RunID, Name: clean(l.job.Plan.Name), Task: spec.Task}
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
	if l.result != nil {
		f.Reviewed = l.result.Review
	}
	if l.result != nil && l.result.Hunks != nil {
		f.Hunks = l.result.Hunks.Line()
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
