package savedjob

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/requests"
	"github.com/millhand/millhand/tasks"
)

// Left is what a job has left to publish beside its commit.
type Left struct {
	Comment  *event.CommentSpec   // nil for none
	Requests []event.ForgeRequest // that were not made, but may be
}

// Any reports whether anything is left.
func (l Left) Any() bool { return l.Comment != nil || len(l.Requests) > 0 }

// String describes what is left; "" for nothing.
func (l Left) String() string {
	var list []string
	if l.Comment != nil {
		list = append(list, "a comment")
	}
	if n := len(l.Requests); n > 0 {
		list = append(list, figures.Count(n, "request"))
	}
	return strings.Join(list, " and ")
}

// Left returns what a job that passed has left to publish beside its commit. A job that has read untrusted content may have lost the
// right to it.
func (j *Job) Left() (l Left) {
	if j.End == nil || j.End.Outcome != event.Passed && j.End.Outcome != event.Publish || j.End.Code == event.CodeHook ||
		j.Start == nil || j.Start.Later == nil || j.Untrusted != nil && j.Untrusted.Publish != "" {
		return Left{}
	}
	if !j.Commented {
		l.Comment = j.Start.Later.Comment
	}
	if j.Start.Later.Requests != nil {
		l.Requests = slices.DeleteFunc(slices.Clone(j.Requested), func(r event.ForgeRequest) bool {
			return r.Outcome != event.RequestSkipped && r.Outcome != event.RequestFailed
		})
	}
	return l
}

// Settled reports whether the job has no commit to publish: it was published, or does not exist.
func (j *Job) Settled() bool {
	return j.pushed() || j.End != nil && j.Commit == nil && (j.End.Patch == "" || j.landing() == nil)
}

// Rest is what is published of a job beside its commit.
type Rest struct {
	Left
	Pull     event.PullRequest // of the job; the zero value for none
	Facts    publish.Facts
	Output   json.RawMessage // redacted; nil for none
	Findings bool            // the output is findings
	Policies policy.Set      // that apply now
}

// PublishRest posts the final message of a job, and makes what its agent has requested, as far as the task allowed it then and policies allow
// it now. What was made before is not repeated. The error is a [*publish.Failure] or the cause of ctx.
func (p Run) PublishRest(ctx context.Context, id string, j *Job, r Rest) error {
	client, at, err := p.Forge(j.Start.Later.Remote)
	if err != nil {
		return &publish.Failure{Code: event.CodeRemote, Detail: err.Error()}
	}
	emit := func(e event.Event) {
		e.Job = id
		p.Emit(e)
	}
	to := publish.CommentTarget{Client: client, Repo: at, Remote: remote.Repo{URL: j.Start.Later.Remote}.String()}
	if r.Comment != nil {
		if err := p.comment(ctx, id, j, r, to, emit); err != nil {
			return err
		}
	}
	if len(r.Requests) == 0 {
		return nil
	}
	limits := j.Start.Later.Requests
	on := forge.Thread{Number: cmp.Or(limits.Number, r.Pull.Number), Issue: limits.Issue}
	if limits.Number != 0 && !strings.EqualFold(limits.Repo, at.String()) {
		return &publish.Failure{Code: event.CodeForge, Detail: fmt.Sprintf("the event was about %s, not %s", textcut.OneLine(limits.Repo), at)}
	}
	all := requests.Again(rulesOf(limits), r.Policies, r.Requests, j.Requested, p.Redact.Text)
	agent := publish.Requests{CommentTarget: to, Thread: on, Job: id, Facts: r.Facts}
	return agent.All(ctx, all, func(one event.ForgeRequest) {
		emit(event.Event{Type: event.ForgeRequestStarted, ForgeRequest: &one})
	}, func(one event.ForgeRequest) {
		emit(event.Event{Type: event.ForgeRequestEnded, ForgeRequest: &one})
	})
}

// rulesOf returns the requests that the task of a run allowed.
func rulesOf(l *event.RequestLimits) tasks.Requests {
	return tasks.Requests{
		Labels: l.Labels, TitlePrefix: l.TitlePrefix, MaxLabels: l.MaxLabels, MaxIssues: l.MaxIssues, MaxComments: l.MaxComments,
		Thread: tasks.Thread{Repo: l.Repo, Number: l.Number, Issue: l.Issue},
	}
}

// comment posts the final message.
func (p Run) comment(ctx context.Context, id string, j *Job, r Rest, to publish.CommentTarget, emit func(event.Event)) error {
	if len(r.Output) == 0 && r.Facts.Session.Summary == "" {
		return nil
	}
	spec := tasks.Comment{Number: r.Comment.Number, Issue: r.Comment.Issue, Sticky: r.Comment.Sticky, Inline: r.Comment.Inline}
	c := &publish.Comment{CommentTarget: to, Spec: spec, Job: id, Facts: r.Facts, Output: r.Output, Emit: emit, Read: p.reader(ctx, j)}
	c.Facts.Pull = r.Pull.URL
	c.Warn = func(text string) {
		emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: text}})
	}
	if review, err := findings.Parse(r.Output); err == nil && r.Findings {
		c.Facts.Review = review
	}
	err := c.Post(ctx)
	var f *publish.Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return context.Cause(ctx)
}

// reader returns a function for the lines of a file as the job has left it, nil if it can't be read.
func (p Run) reader(ctx context.Context, j *Job) func(path string) []string {
	open := sync.OnceValues(func() (*gitops.Repo, error) {
		at := remote.Repo{URL: j.Start.Later.Remote, Auth: p.Auth(j.Start.Later.Remote), Proxy: p.Proxy}
		return p.repository(ctx, j, &at)
	})
	return func(path string) []string {
		repo, err := open()
		if err != nil {
			return nil
		}
		commit := j.Start.Base
		if j.Commit != nil && landing.Has(repo, j.Commit.Hash) {
			commit = j.Commit.Hash
		}
		text, err := repo.File(commit, path)
		if err != nil {
			return nil
		}
		return strings.Split(string(text), "\n")
	}
}
