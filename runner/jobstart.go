package runner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// started reports the start of the job, whose site is prepared.
func (j *job) started(s *site) {
	origin := "" // of a job that commits nothing
	if at := remoteOf(j, s); j.spec.Commit == nil && at.URL != "" {
		origin = at.String()
	}
	j.emit(event.Event{Type: event.JobStarted, JobStart: &event.JobStart{
		Sandbox:   event.Sandbox{Level: j.opts.Sandbox.Level, FS: j.opts.Sandbox.FS, Net: j.opts.Sandbox.Net, PID: j.opts.Sandbox.PID, Reason: j.opts.Sandbox.Warning},
		Workspace: s.dir, Base: s.base, BaseRef: s.ref, Tree: s.initial, Branch: s.branch(), Repository: j.repository(s), Onto: j.start.Onto.Commit,
		Landing: j.landing(s), Remote: origin,
	}})
	if s.complete() {
		s.warnOfUnread()
	}
}

// remoteOf returns the remote of the repository; the zero value without one.
func remoteOf(j *job, s *site) remote.Repo {
	at := j.start.Remote
	if at.URL == "" && j.spec.Repo.Kind == tasks.RepoPath {
		at.URL, _ = remote.PushURL(s.origin.Git, "origin")
	}
	return at
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
		l.Branch = s.branch()
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

// repository returns the directory of the repository that the job's branch is in; "" for a
// remote one.
func (j *job) repository(s *site) string {
	if j.spec.Repo.Kind == tasks.RepoURL {
		return ""
	}
	return s.origin.Root()
}
