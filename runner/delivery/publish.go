package delivery

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

// Publishes reports whether there is a commit to publish.
func (d *Delivery) Publishes() bool { return d.Job.Spec.Publish.Pushes() && d.Made.Hash != "" }

// Publish pushes the job's commit and publishes its pull request, if its task has
// publish.mode push or pr. A failure does not remove the commit and the patch.
func (d *Delivery) Publish(ctx context.Context) *ending.Stop {
	if !d.Publishes() {
		return nil
	}
	publication := d.publication()
	var err error
	if publication.Signing, err = d.signing(); err != nil {
		return ending.OfGit(ctx, "read the commit", err)
	}
	err = publication.Publish(ctx)
	d.Made.Hash = publication.Commit // of the forge, if it has signed it
	var failed *publish.Failure
	switch {
	case errors.As(err, &failed):
		return &ending.Stop{Code: failed.Code, Detail: failed.Detail}
	case err != nil:
		return ending.Of(ctx)
	}
	return nil
}

// signing returns how the forge makes the job's commit; nil if it does not.
func (d *Delivery) signing() (*publish.Signing, error) {
	s := d.Job.Start.Signer
	if !d.Job.Spec.Commit.ByForge() || s.Client == nil {
		return nil, nil //nolint:nilnil // the usual case
	}
	s.Branch, s.Origin = publish.SigningPrefix+d.Options.RunID+"/"+d.Job.Spec.ID, d.Site.Origin
	if d.Job.Spec.Repo.Kind == tasks.RepoPath {
		s.Moves = d.Made.Branch
		_, s.Committer = d.Job.Signatures()
	}
	return &s, s.Read(d.Made.Hash)
}

// publication returns what is published of the job.
func (d *Delivery) publication() *publish.Publication {
	p := &publish.Publication{
		PushOptions: remote.PushOptions{Remote: d.Job.Start.Remote, Commit: d.Made.Hash, Branch: d.Made.Branch, Expect: d.Job.Start.Lease},
		From:        d.Site.Origin.Git, OnBase: d.Site.InPlace, Base: d.Site.Base, Saved: "saved as a patch", Emit: d.emit,
	}
	if d.Job.Start.Earlier.Hash != "" {
		p.Saved = "on the branch"
	}
	if target := d.Job.Start.Pull; target.Client != nil {
		p.Pull = &publish.PullRequest{Target: target, Spec: *d.Job.Spec.Pull, Facts: d.facts()}
		known := d.Job.History.Pull()
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
func (d *Delivery) emit(e event.Event) {
	if p := e.Published; p != nil && p.PullRequest != nil {
		d.pull = *p.PullRequest
	}
	d.Job.Emit(e)
}

// facts returns the contents of the pull request's texts.
func (d *Delivery) facts() publish.Facts {
	spec, clean := d.Job.Spec, d.Options.Redact.Text
	f := publish.Facts{Run: d.Options.RunID, RunURL: clean(d.RunURL), Name: clean(d.Job.Plan.Name), Task: spec.Task}
	if spec.Commit != nil {
		f.Message = d.message("")
	}
	if d.Result != nil {
		t := d.Result.Totals
		f.Session = &publish.Session{
			Summary: clean(d.Result.Final), Model: spec.ModelName, Profile: spec.Profile.Name, Turns: t.Turns, Denied: t.Denied, CostUSD: t.Cost.USD(), Models: d.Result.Models,
		}
	}
	if d.Result != nil {
		f.Reviewed = d.Result.Review
	}
	if d.Result != nil && d.Result.Hunks != nil {
		f.Hunks = d.Result.Hunks.Line()
	}
	for _, c := range spec.Verify {
		v := publish.Verify{Name: clean(c.Name), Before: "not run"}
		if i := slices.IndexFunc(d.Baseline, func(o event.Baseline) bool { return o.Name == c.Name }); i >= 0 {
			v.Before = d.Baseline[i].Result()
		}
		f.Verify = append(f.Verify, v)
	}
	f.LeftOut = changes.SummarizeLeft(d.LeftOut)
	for i := range f.LeftOut {
		f.LeftOut[i].Path = clean(f.LeftOut[i].Path)
	}
	return f
}
