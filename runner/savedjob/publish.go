package savedjob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// Job is a job of a saved run, with what is required to publish it later. It is an
// [event.Sink] of the events of the job; its zero value is ready to use.
type Job struct{ history.Publishable }

// Emit adds an event of the job. It always returns nil.
func (j *Job) Emit(e event.Event) error {
	j.Add(e)
	return nil
}

// Mode is how the job is published unless a mode is given: as its manifest states, else by
// a pull request.
func (j *Job) Mode() tasks.PublishMode {
	if l := j.landing(); l != nil && tasks.PublishMode(l.Publish).Pushes() {
		return tasks.PublishMode(l.Publish)
	}
	if l := j.later(); l != nil && tasks.PublishMode(l.Publish).Pushes() {
		return tasks.PublishMode(l.Publish)
	}
	return tasks.PublishPR
}

func (j *Job) later() *event.Later {
	if j.Start == nil {
		return nil
	}
	return j.Start.Later
}

// Forge is the kind of the remote's forge; "" if it is unknown.
func (j *Job) Forge() string {
	if l := j.landing(); l != nil {
		return l.Forge
	}
	if l := j.later(); l != nil {
		return l.Forge
	}
	return ""
}

func (j *Job) landing() *event.Landing {
	if j.Start == nil {
		return nil
	}
	return j.Start.Landing
}

// Remote is the URL that the job is published to, and Branch the branch; both are empty for a
// job that can't be published.
func (j *Job) Remote() string {
	if l := j.landing(); l != nil {
		return l.Remote
	}
	if l := j.later(); l != nil {
		return l.Remote
	}
	return ""
}

// Branch is described at Remote.
func (j *Job) Branch() string {
	if l := j.landing(); l != nil {
		return l.Branch
	}
	return ""
}

// Done returns why a job is not published; done reports that it was published before. The
// reason is empty for a job that can be published.
func (j *Job) Done(mode tasks.PublishMode) (reason string, done bool) {
	end, l := j.End, j.landing()
	switch {
	case end == nil:
		return "it did not end", false
	case end.Outcome != event.Passed && end.Outcome != event.Publish && (end.Outcome != event.Cancelled || !j.finished()):
		return strings.TrimSuffix(string(end.Outcome)+": "+end.Reason, ": "), false
	case end.Code == event.CodeHook:
		return end.Reason, false
	case j.withheld(mode):
		return "it has read untrusted content (" + j.Untrusted.What + "), after which at most publish.mode " + j.Untrusted.Publish + " is allowed (after_untrusted.publish): review its patch, and apply it yourself", false
	case j.pushed() && (mode == tasks.PublishPush || j.Published.PullRequest != nil):
		return "published before", true
	case j.Start == nil:
		return "its commit is of an earlier run", false
	case j.Commit == nil && end.Patch == "":
		return "it has no changes", false
	case l == nil:
		return "its changes were not to be committed (commit: false), or the run is of an earlier release", false
	case l.Branch == "" || l.Remote == "":
		return "its repository has no branch or no remote to push to", false
	case l.PullRequest != nil && l.PullRequest.Fork != "":
		return "its branch is in the fork " + l.PullRequest.Fork + " (publish.fork), which is not supported yet: use millhand run --resume", false
	case j.Start.Base == "":
		return "it started in a repository without commits", false
	case l.Sign == string(tasks.SignAPI) && !j.pushed():
		return "its commit is made and signed by the forge (commit.sign: api), which only a run can do: use publish.mode: push or pr, or millhand run --resume", false
	case l.Sign != "" && j.Commit == nil:
		return "its commit is to be signed (commit.sign: " + l.Sign + "), and the run has made none: use publish.mode: branch", false
	case j.Commit == nil && end.PatchSHA256 == "":
		return "the checksum of its patch is unknown", false
	}
	return "", false
}

// withheld reports whether a mode publishes more than a job may that has read untrusted content.
func (j *Job) withheld(mode tasks.PublishMode) bool {
	u := j.Untrusted
	return u != nil && u.Publish != "" && (mode == tasks.PublishPR || tasks.PublishMode(u.Publish) != tasks.PublishPush)
}

// pushed reports whether the newest commit of the job was pushed.
func (j *Job) pushed() bool {
	return j.Published != nil && (j.Commit == nil || j.Commit.Hash == j.Published.Hash)
}

// finished reports whether the job has committed its complete work.
func (j *Job) finished() bool {
	return j.Commit != nil && !trailers.Read(j.Commit.Message).Unfinished()
}

// Run has what publishing the jobs of a saved run requires.
type Run struct {
	Git           gitdir.Env
	Reports       string // directory of the run's reports
	Mirrors, Work string // see PreflightOptions and Options
	Auth          func(url string) remote.Auth
	Proxy         func(*http.Request) (*url.URL, error)
	Forge         func(url string) (*forge.Client, forge.Path, error)
	Redact        *redact.Redactor
	Protected     []permission.Rule // by policies
	Emit          func(event.Event)
	Head          func(job string) string // see About
	Run           string                  // id of the run; of Revert only
	Now           func() time.Time        // of Revert only
}

// Publish re-creates the commit of a job if its repository does not have it, checks it
// again, pushes it and publishes its pull request. For the mode push, facts are not used.
// The error is a [*publish.Failure] or the cause of ctx.
func (p Run) Publish(ctx context.Context, id string, j *Job, mode tasks.PublishMode, facts publish.Facts) error {
	pub, err := p.prepare(ctx, id, j, mode, facts)
	if err == nil {
		err = pub.Publish(ctx)
	}
	var f *publish.Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	code := event.CodePush
	if errors.Is(err, remote.ErrLease) {
		code = event.CodeLease
	}
	return &publish.Failure{Code: code, Detail: err.Error()}
}

func (p Run) prepare(ctx context.Context, id string, j *Job, mode tasks.PublishMode, facts publish.Facts) (*publish.Publication, error) {
	l, emit := j.landing(), func(e event.Event) {
		e.Job = id
		p.Emit(e)
	}
	at := remote.Repo{URL: l.Remote, Auth: p.Auth(l.Remote), Proxy: p.Proxy}
	repo, err := p.repository(ctx, j, &at)
	if err != nil {
		return nil, err
	}
	commit, err := p.commit(ctx, repo, id, j)
	if err != nil {
		return nil, err
	}
	if j.Commit == nil {
		emit(event.Event{Type: event.Committed, Commit: commit})
	}
	pub := &publish.Publication{
		PushOptions: remote.PushOptions{Remote: at, Commit: commit.Hash, Branch: l.Branch, Expect: l.Lease},
		From:        repo.Git, OnBase: l.OnBase, Base: j.Start.Base, Saved: "saved as a patch", Emit: emit,
	}
	switch {
	case j.Published != nil: // only its pull request is missing, or it was reverted since
		pub.Expect, pub.OnBase = j.Published.Hash, false
	case !tasks.PublishMode(l.Publish).Pushes() && l.Exists == string(tasks.ReplaceIfExists):
		if pub.Expect, err = p.replaced(ctx, repo, at, l.Branch, commit.Hash); err != nil {
			return nil, err
		}
	}
	if mode == tasks.PublishPR {
		facts.Message = commit.Message
		pub.Pull, err = p.pull(ctx, j, facts)
	}
	return pub, err
}

// repository returns a repository with the base of a job: that of the job if it is on this
// machine, else a mirror of the remote.
func (p Run) repository(ctx context.Context, j *Job, at *remote.Repo) (*gitops.Repo, error) {
	if dir := j.Start.Repository; dir != "" {
		repo, err := gitops.Open(dir, p.Git)
		if err == nil && landing.Has(repo, j.Start.Base) {
			at.Auth.Header, err = credentials.Authorization(repo.Git, at.URL)
			return repo, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	git, err := remote.Mirror(ctx, filepath.Join(p.Mirrors, remote.MirrorName(at.URL, 0)), *at, remote.MirrorOptions{}, p.Git)
	if err != nil {
		return nil, err
	}
	if repo := gitops.New(git); landing.Has(repo, j.Start.Base) {
		return repo, nil
	}
	return nil, fmt.Errorf("the commit %.10s that the job started from is not on %s", j.Start.Base, *at)
}

// commit returns the commit of a job after checking its changes. A commit that is missing in
// the repository is made from the patch: it must have the hash that the run has reported, or
// the patch the checksum.
func (p Run) commit(ctx context.Context, repo *gitops.Repo, id string, j *Job) (c *event.Commit, err error) {
	made, at := j.Commit != nil && landing.Has(repo, j.Commit.Hash), j.Start.Base
	if made {
		at = j.Commit.Hash
	}
	dir := filepath.Join(p.Work, "publish-"+hashOf([]byte(id))[:12])
	tree, err := repo.AddWorktree(ctx, dir, at)
	if err != nil {
		return nil, fmt.Errorf("check out the commit %.10s: %w", at, err)
	}
	defer func() { err = errors.Join(err, repo.RemoveWorktree(context.WithoutCancel(ctx), dir)) }()
	if !made && j.Commit != nil && j.Commit.Hash == j.Reverted {
		return nil, fmt.Errorf("the commit %.10s of session revert is not in %s, and no patch has it: publish it where the session was reverted", j.Reverted, repo.Git.Common)
	}
	if !made {
		if err := p.apply(ctx, tree, j); err != nil {
			return nil, err
		}
	}
	base, err := tree.SnapshotOf(j.Start.Base)
	if err != nil {
		return nil, err
	}
	changes, err := tree.Changes(ctx, base)
	if err != nil {
		return nil, err
	}
	if err := p.check(ctx, tree, changes, j.landing().Below); err != nil || made {
		return j.Commit, err
	}
	if j.Commit == nil {
		return j.remake(ctx, tree, changes, landing.Witnessed(j.landing().Message, id, p.Head))
	}
	return j.remake(ctx, tree, changes, "")
}

// apply applies the patch of a job, whose checksum must be that of the events if no commit
// identifies its contents.
func (p Run) apply(ctx context.Context, tree *gitops.Repo, j *Job) error {
	if j.End.Patch == "" {
		return errors.New("the commit is not in the repository, and the run has saved no patch")
	}
	patch, err := files.ReadIn(p.Reports, j.End.Patch)
	if err != nil {
		return fmt.Errorf("read the patch: %w", err)
	}
	if sum := j.End.PatchSHA256; sum != "" && sum != hashOf(patch) {
		return fmt.Errorf("%s was changed after the run", j.End.Patch)
	}
	file := tree.Root() + ".patch" // a copy: what was checked is what is applied
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		return fmt.Errorf("copy the patch: %w", err)
	}
	defer os.Remove(file)
	if err := tree.Apply(ctx, file); err != nil {
		return fmt.Errorf("apply %s to commit %.10s: %w", j.End.Patch, j.Start.Base, err)
	}
	return nil
}

// hashOf returns the hexadecimal SHA-256 of data.
func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// check checks changes that were checked by the run, because policies and secrets may be
// others now.
func (p Run) check(ctx context.Context, tree *gitops.Repo, changes *state.ChangeSet, below string) error {
	files := make([]string, 0, len(changes.Changes))
	for _, c := range changes.Changes {
		files = append(files, c.Path)
	}
	rules := tasks.Job{Profile: permission.Profile{Name: "policies"}.Narrowed("policies", p.Protected), Protect: p.Protected}
	if barred := landing.EditsOf(rules, tree.Root(), below).Barred(files); len(barred) > 0 {
		return &publish.Failure{Code: event.CodeProtected, Detail: "the changes are not allowed by a policy: " + landing.Denials(barred)}
	}
	leaks, err := landing.Leaks(ctx, tree, changes, p.Redact)
	if err != nil || len(leaks) == 0 {
		return err
	}
	where := make([]string, len(leaks))
	for i, k := range leaks {
		where[i] = k.String()
	}
	return &publish.Failure{Code: event.CodeSecret, Detail: "the changes contain secrets that were not in the repository: " + textcut.List(slices.Compact(where))}
}

// remake makes the commit of a job in a worktree. message is that of a commit that the run has
// not made.
func (j *Job) remake(ctx context.Context, tree *gitops.Repo, changes *state.ChangeSet, message string) (*event.Commit, error) {
	l := j.landing()
	c := event.Commit{Branch: l.Branch, Message: message}
	committer := gitops.Signature{Name: "millhand", Email: "millhand@localhost", When: j.Ended.UTC()}
	author := committer
	if l.Author != "" {
		author.Name, author.Email, _ = strings.Cut(strings.TrimSuffix(l.Author, ">"), " <")
	}
	if j.Commit != nil {
		c = *j.Commit
		var err error
		if author, err = gitops.ParseSignature(c.Author); err == nil {
			committer, err = gitops.ParseSignature(c.Committer)
		}
		if err != nil {
			return nil, fmt.Errorf("re-create the commit %.10s: %w", c.Hash, err)
		}
	}
	c.Author, c.Committer = author.String(), committer.String()
	o := gitops.CommitOptions{Parent: j.Start.Base, Message: c.Message, Author: author, Committer: committer}
	if c.Signature != "" {
		o.Sign = func(context.Context, []byte) (string, error) { return c.Signature, nil }
	}
	done, err := tree.Commit(ctx, changes, o)
	switch {
	case err != nil:
		return nil, err
	case c.Hash != "" && done.Hash != c.Hash:
		return nil, fmt.Errorf("the patch results in commit %.10s instead of %.10s: it was changed, or it lacks redacted texts", done.Hash, c.Hash)
	}
	c.Hash = done.Hash
	return &c, nil
}

// replaced returns the commit that a branch is at on the remote, if millhand made it, for a
// job that replaces it. The run has not asked for it.
func (p Run) replaced(ctx context.Context, repo *gitops.Repo, at remote.Repo, branch, commit string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	tip, err := remote.Fetch(ctx, repo.Git, at, branch)
	switch {
	case errors.Is(err, remote.ErrNotFound):
		return "", nil
	case err != nil || tip == commit:
		return tip, err
	}
	if err := landing.Ours(repo, tip); err != nil {
		return "", fmt.Errorf("branch %s %w: %w", branch, remote.ErrLease, err)
	}
	return tip, nil
}

// pull returns the pull request of a job. An open one that the run has not announced is
// subject to if_exists.
func (p Run) pull(ctx context.Context, j *Job, facts publish.Facts) (*publish.PullRequest, error) {
	l := j.landing()
	client, at, err := p.Forge(l.Remote)
	if err != nil {
		return nil, err
	}
	repo, err := publish.Repository(ctx, client, at)
	if err != nil {
		return nil, err
	}
	spec := event.PullRequestSpec{Base: repo.DefaultBranch}
	if l.PullRequest != nil {
		spec = *l.PullRequest
	}
	if spec.Base == "" {
		spec.Base = repo.DefaultBranch
	}
	pr := &publish.PullRequest{Target: publish.Target{Client: client, Repo: at, Base: spec.Base}, Facts: facts, Spec: tasks.PullRequest{
		Title: spec.Title, Body: spec.Body, Draft: spec.Draft, Labels: spec.Labels, Reviewers: spec.Reviewers, Assignees: spec.Assignees, IfExists: tasks.IfExists(spec.Exists),
	}}
	if err := pr.Check(l.Branch); err != nil {
		return nil, err
	}
	if j.Announced || pr.Spec.IfExists != tasks.FailIfExists && pr.Spec.IfExists != tasks.SkipIfExists {
		return pr, nil
	}
	open, err := pr.Open(ctx, l.Branch)
	if err == nil && open != "" {
		err = &publish.Failure{Code: event.CodeBranchExists, Detail: "pull request " + open + " is open (publish.if_exists: " + spec.Exists + ")"}
	}
	return pr, err
}
