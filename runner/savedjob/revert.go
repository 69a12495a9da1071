package savedjob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// RevertBranch returns the branch of the inverse of a job's change.
func RevertBranch(branch string) string { return branch + "-revert" }

// Reverts reports whether a commit with this message reverts a commit that a run has pushed.
func Reverts(message, pushed string) bool {
	return trailers.Read(message).Has(trailers.Reverts, pushed)
}

// Inverse is what is published to revert a pull request that was merged.
type Inverse struct {
	Target publish.Target // of the pull request that was merged
	Title  string         // of its inverse
	Body   string
}

// Revert pushes the inverse of a job's commits, on top of the current base of its pull request,
// to the branch [RevertBranch], and creates a pull request for it. Changes that were made since
// then are not affected: if the inverse conflicts with them, the error matches
// [gitops.ErrMerge].
func (p Run) Revert(ctx context.Context, id string, j *Job, i Inverse) error {
	l := j.landing()
	if l == nil || j.Published == nil {
		return errors.New("the run is of an earlier release")
	}
	at := remote.Repo{URL: l.Remote, Auth: p.Auth(l.Remote), Proxy: p.Proxy}
	repo, err := p.repository(ctx, j, &at)
	if err != nil {
		return err
	}
	pushed := j.Published.Hash
	if !landing.Has(repo, pushed) { // its branch was deleted, and it was squashed
		if _, err := p.commit(ctx, repo, id, j); err != nil {
			return err
		}
	}
	if !landing.Has(repo, pushed) {
		return fmt.Errorf("the commit %.10s that the run has pushed is not on %s any more", pushed, at)
	}
	line, text, err := landing.OwnCommits(repo, pushed, p.Run, id)
	if err != nil {
		return err
	}
	before := line[len(line)-1]
	subject, _, _ := strings.Cut(text, "\n")
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	tip, err := remote.Fetch(ctx, repo.Git, at, i.Target.Base)
	if err != nil {
		return err
	}
	branch := RevertBranch(l.Branch)
	lease, err := p.replaced(ctx, repo, at, branch, "")
	if err != nil {
		return err
	}
	message := gitops.WithTrailers(fmt.Sprintf("Revert \"%s\"", textcut.Plain(subject)), trailers.Run.Of(p.Run), trailers.Job.Of(id), trailers.Task.Of(hashOf([]byte(pushed))), trailers.Reverts.Of(pushed))
	commit, err := p.merged(ctx, repo, merging{id: id, at: tip, from: pushed, to: before, message: message, below: l.Below})
	if err != nil {
		return err
	}
	pub := &publish.Publication{
		PushOptions: remote.PushOptions{Remote: at, Commit: commit, Branch: branch, Expect: lease}, From: repo.Git, Saved: "not published", Emit: p.Emit,
		Pull: &publish.PullRequest{Target: i.Target, Spec: tasks.PullRequest{Title: i.Title, Body: i.Body, IfExists: tasks.ReplaceIfExists}, Facts: publish.Facts{Run: p.Run, Message: message}},
	}
	return pub.Publish(ctx)
}

// merging is a difference between two commits that is committed on top of another one.
type merging struct {
	id           string // of the job
	at, from, to string
	message      string
	below        string // the workspace in the repository
}

// merged makes the commit, which no branch has, after checking its changes.
func (p Run) merged(ctx context.Context, repo *gitops.Repo, m merging) (hash string, err error) {
	dir := filepath.Join(p.Work, "merge-"+hashOf([]byte(m.id))[:12])
	tree, err := repo.AddWorktree(ctx, dir, m.at)
	if err != nil {
		return "", fmt.Errorf("check out the commit %.10s: %w", m.at, err)
	}
	defer func() { err = errors.Join(err, repo.RemoveWorktree(context.WithoutCancel(ctx), dir)) }()
	if err := gitops.Merge(ctx, tree, m.at, m.from, m.to); err != nil {
		return "", err
	}
	base, err := tree.SnapshotOf(m.at)
	if err != nil {
		return "", err
	}
	changes, err := tree.Changes(ctx, base)
	if err != nil {
		return "", err
	}
	if len(changes.Changes) == 0 {
		return "", errUnchanged
	}
	if err := p.check(ctx, tree, changes, m.below); err != nil {
		return "", err
	}
	by := gitops.Signature{Name: "millhand", Email: "millhand@localhost", When: p.Now()}
	done, err := tree.Commit(ctx, changes, gitops.CommitOptions{Parent: m.at, Message: m.message, Author: by, Committer: by})
	return done.Hash, err
}

// errUnchanged is the error of a merge that changes nothing.
var errUnchanged = errors.New("nothing is left to change: it was reverted by other commits")

// IsUnchanged reports whether a revert failed only because nothing is left to revert.
func IsUnchanged(err error) bool { return errors.Is(err, errUnchanged) }
