package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// pullTarget is where a job's pull request goes.
type pullTarget struct {
	client *forge.Client
	repo   forge.Path
	base   string // branch
}

// pullRequest checks before the job costs anything that its pull request can be created: the
// forge is known, the token can push, and no open one is in the way.
func (p *preflight) pullRequest(ctx context.Context, j tasks.Job, s *start) error {
	if p.Forge == nil {
		return refuse(event.CodeRemote, "publish: pr: no forge is known")
	}
	client, at, err := p.Forge(s.remote.URL)
	if err != nil {
		return refuse(event.CodeRemote, "publish: pr: %w", err)
	}
	repo, err := client.Repo(ctx, at)
	switch {
	case errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited):
		s.skip = notFetched("prepare the pull request", err)
		return nil
	case errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrDenied):
		return refuse(event.CodeRemote, "publish: pr: %w: the token must be able to read and write the repository and its pull requests", err)
	case err != nil:
		return refuse(event.CodeRemote, "publish: pr: %w", err)
	case repo.Archived:
		return refuse(event.CodeRemote, "publish: pr: %s is archived", at)
	case !repo.Push && !repo.PushUnknown:
		return refuse(event.CodeRemote, "publish: pr: the token can't push to %s: use one that can", at)
	}
	s.pull = pullTarget{client, at, p.pullBase(j, s, repo)}
	switch s.pull.base {
	case "":
		return refuse(event.CodeBase, "publish: pr: %s has no default branch: set publish.base", at)
	case j.Commit.Branch:
		return refuse(event.CodeBase, "publish: pr: branch %s is also the base: set commit.branch or publish.base", j.Commit.Branch)
	}
	if s.own || j.Pull.IfExists != tasks.FailIfExists && j.Pull.IfExists != tasks.SkipIfExists {
		return nil // an open one may be of this run
	}
	found, err := client.Find(ctx, at, forge.Head{Branch: j.Commit.Branch})
	switch {
	case errors.Is(err, forge.ErrNotFound) || err == nil && found.State != forge.Open:
		return nil
	case err != nil:
		return refuse(event.CodeRemote, "publish: pr: %w", err)
	case j.Pull.IfExists == tasks.SkipIfExists:
		s.skip = &stop{code: event.CodeBranchExists, detail: "pull request " + found.URL + " is open"}
		return nil
	}
	return refuse(event.CodeBranchExists, "pull request %s is open: merge or close it, or set publish.if_exists", found.URL)
}

// pullBase returns the branch that a pull request is for: that of the manifest, the one
// that the job started from, or the default one.
func (p *preflight) pullBase(j tasks.Job, s *start, repo forge.Repository) string {
	switch {
	case j.Pull.Base != "":
		return j.Pull.Base
	case j.Repo.Ref != "" && j.Repo.Kind == tasks.RepoURL && fetchedTip(s.origin, j.Repo.Ref) != "":
		return j.Repo.Ref
	}
	return repo.DefaultBranch
}

// pullRequest creates or updates the pull request of the pushed branch. It is found by its
// branch, so that repeating it creates no second one.
func (l *landing) pullRequest(ctx context.Context, p *pusher) *stop {
	target := l.job.start.pull
	if target.client == nil {
		return nil
	}
	l.job.emit(event.Event{Type: event.PullRequestStarted, Published: p.event()})
	pr, created, err := l.publishPull(ctx, target)
	if err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		detail := fmt.Sprintf("pull request for branch %s: %v; the branch was pushed", p.Branch, err)
		if pr.Number == 0 {
			return &stop{code: event.CodePull, detail: detail}
		}
		l.job.warn(detail + ", and " + pr.URL + " is open") // only labels or people are missing
	}
	done := p.event()
	done.PullRequest = &event.PullRequest{URL: pr.URL, Number: pr.Number, State: string(pr.State), Created: created}
	l.job.emit(event.Event{Type: event.CommitPublished, Published: done})
	return nil
}

// publishPull creates a pull request, or changes the open one.
func (l *landing) publishPull(ctx context.Context, to pullTarget) (pr forge.PullRequest, created bool, err error) {
	want, head := l.job.spec.Pull, forge.Head{Branch: l.made.Branch}
	title, body := l.pullTitle(), l.pullBody()
	pr, err = to.client.Find(ctx, to.repo, head)
	if errors.Is(err, forge.ErrNotFound) || err == nil && pr.State != forge.Open {
		pr, created, err = to.client.Create(ctx, to.repo, forge.New{
			Head: head, Base: to.base, Title: title, Body: body, Draft: want.Draft,
			Labels: want.Labels, Reviewers: want.Reviewers, Assignees: want.Assignees,
		})
		if created || err != nil {
			return pr, created, err
		}
	}
	if err != nil {
		return forge.PullRequest{}, false, err
	}
	change := forge.Change{Labels: want.Labels, Reviewers: want.Reviewers, Assignees: want.Assignees}
	switch want.IfExists {
	case tasks.SkipIfExists, tasks.FailIfExists:
		// None was open before the job: this one was opened meanwhile, perhaps by an
		// earlier attempt to publish the same branch.
		return pr, false, nil
	case tasks.AppendIfExists:
		if !strings.Contains(pr.Body, body) {
			body = strings.TrimRight(pr.Body, "\n") + "\n\n---\n\n" + body
			change.Body = &body
		}
	default:
		change.Title, change.Body = &title, &body
	}
	updated, err := to.client.Update(ctx, to.repo, pr.Number, change)
	if updated.Number == 0 {
		updated = pr
	}
	return updated, false, err
}

// pullTitle returns the title of the pull request.
func (l *landing) pullTitle() string {
	title := l.job.spec.Pull.Title
	if title == "" {
		title, _, _ = strings.Cut(l.job.message("", ""), "\n")
	}
	return titleText(l.fillResult(title))
}

// pullBody returns the description of the pull request.
func (l *landing) pullBody() string {
	body := l.job.spec.Pull.Body
	if body == "" {
		body = "${{ summary }}\n\n${{ verify }}\n\n" + l.pullFacts()
	}
	return bodyText(l.fillResult(body))
}

// fillResult fills in the variables of the job's result. Nothing in their values is a
// variable again.
func (l *landing) fillResult(text string) string {
	values := map[string]string{"summary": l.summary(), "verify": l.verified(), "cost": l.cost()}
	var pairs []string
	for _, name := range tasks.ResultVariables() {
		pairs = append(pairs, "${{ "+name+" }}", values[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// summary returns the final message of the agent as text that does nothing on a forge.
func (l *landing) summary() string {
	if l.result == nil {
		return "This branch was committed by an earlier run."
	}
	return harmless(l.job.opts.Redact.Text(l.result.final))
}

func (l *landing) cost() string {
	if l.result == nil {
		return "unknown"
	}
	return money.Rounded(l.result.totals.CostUSD)
}

// verified returns a table of the verify commands. All of them passed after the change.
func (l *landing) verified() string {
	checks := l.job.spec.Verify
	if len(checks) == 0 {
		return "No verify commands."
	}
	var b strings.Builder
	b.WriteString("| verify | before | after |\n|---|---|---|\n")
	for _, c := range checks {
		before := "not run"
		if i := slices.IndexFunc(l.baseline, func(o event.Baseline) bool { return o.Name == c.Name }); i >= 0 {
			before = "failed (" + l.baseline[i].Exit() + ")"
			if l.baseline[i].Passed {
				before = "passed"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | passed |\n", cell(l.job.opts.Redact.Text(c.Name)), before)
	}
	return strings.TrimRight(b.String(), "\n")
}

// pullFacts returns what a reviewer needs to know of how the change was made.
func (l *landing) pullFacts() string {
	facts := []string{"Task " + cell(l.job.spec.Task)}
	if l.result != nil {
		t := l.result.totals
		facts = append(facts, "model "+cell(l.job.spec.ModelName), "profile "+cell(l.job.spec.Profile.Name),
			fmt.Sprintf("%d turns", t.Turns), "cost "+l.cost(), fmt.Sprintf("%d denied calls", t.Denied))
	}
	return "<sub>" + strings.Join(append(facts, "millhand run "+cell(l.job.opts.RunID)), " · ") + "</sub>"
}
