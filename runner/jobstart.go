package runner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// started reports the start of the job, whose site is prepared.
func (j *job) started(s *site.Site) {
	origin := "" // of a job that commits nothing
	if at := remoteOf(j, s); j.Spec.Commit == nil && at.URL != "" {
		origin = at.String()
	}
	j.Emit(event.Event{Type: event.JobStarted, JobStart: &event.JobStart{
		Sandbox:   event.Sandbox{Level: j.opts.Sandbox.Level, FS: j.opts.Sandbox.FS, Net: j.opts.Sandbox.Net, PID: j.opts.Sandbox.PID, Reason: j.opts.Sandbox.Warning},
		Workspace: s.Dir, Base: s.Base, BaseRef: s.Ref, Tree: s.Initial, Branch: s.Branch(), Repository: j.repository(s), Onto: j.Start.Onto.Commit,
		Landing: j.landing(s), Remote: origin, Later: j.later(remoteOf(j, s)), Watched: j.Watched(),
	}})
	if s.Complete() {
		s.WarnOfUnread()
	}
}

// remoteOf returns the remote of the repository; the zero value without one.
func remoteOf(j *job, s *site.Site) remote.Repo {
	at := j.Start.Remote
	if at.URL == "" && j.Spec.Repo.Kind == tasks.RepoPath {
		at.URL, _ = remote.PushURL(s.Origin.Git, "origin")
	}
	return at
}

// landing describes how the job saves its changes, for a process that publishes them later;
// nil if it commits nothing.
func (j *job) landing(s *site.Site) *event.Landing {
	c := j.Spec.Commit
	if c == nil {
		return nil
	}
	l := &event.Landing{
		Publish: string(j.Spec.Publish), Lease: j.Start.Lease, OnBase: s.InPlace, Below: s.Below,
		Branch: c.Branch, Message: j.Message(s.Base, "", ""), Exists: string(c.IfExists),
	}
	if s.InPlace {
		l.Branch = s.Branch()
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
	l.Forge = j.forgeOf(at)
	pr := j.Spec.Pull
	if pr == nil && j.Spec.Later != nil {
		pr = j.Spec.Later.Pull
	}
	if pr != nil {
		l.PullRequest = &event.PullRequestSpec{
			Fork: cmp.Or(forkOf(j.Start.Pull), pr.Fork), Base: cmp.Or(j.Start.Pull.Base, pr.Base), Title: pr.Title, Body: pr.Body, Draft: pr.Draft,
			Labels: pr.Labels, Reviewers: pr.Reviewers, Assignees: pr.Assignees, Exists: string(pr.IfExists),
		}
	}
	return l
}

// forgeOf returns the kind of a remote's forge, as the manifest states it; "" if it does not.
func (j *job) forgeOf(at remote.Repo) string {
	a, err := remote.ParseAddress(at.URL)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(j.Plan.Forges, func(f tasks.Forge) bool { return strings.EqualFold(f.Host, a.Host) })
	if i < 0 {
		return ""
	}
	return string(j.Plan.Forges[i].Kind)
}

// later describes what the job publishes beside its commit, for a process that does it later; nil for nothing.
func (j *job) later(at remote.Repo) *event.Later {
	l, comment := &event.Later{Forge: j.forgeOf(at)}, j.Spec.Comment
	if at.URL != "" {
		l.Remote = at.String()
	}
	if of := j.Spec.Later; of != nil {
		l.Publish, comment = string(of.Publish), of.Comment
	}
	if comment != nil {
		l.Comment = &event.CommentSpec{Number: comment.Number, Issue: comment.Issue, Sticky: comment.Sticky, Inline: comment.Inline}
	}
	if r := j.Spec.Requests; r != nil {
		l.Requests = &event.RequestLimits{
			Labels: r.Labels, TitlePrefix: r.TitlePrefix, MaxLabels: r.MaxLabels, MaxIssues: r.MaxIssues, MaxComments: r.MaxComments,
			Repo: r.Thread.Repo, Number: r.Thread.Number, Issue: r.Thread.Issue,
		}
	}
	if l.Publish == "" && l.Comment == nil && l.Requests == nil {
		return nil
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

// repository returns the directory of the repository that the job's branch is in; "" for a
// remote one.
func (j *job) repository(s *site.Site) string {
	if j.Spec.Repo.Kind == tasks.RepoURL {
		return ""
	}
	return s.Origin.Root()
}
