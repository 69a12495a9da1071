package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/delivery"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// Rebased is the result of [Rebase].
type Rebased struct {
	Commit   string // that was pushed; "" for none
	Current  bool   // the job's commits are on the current base: nothing was to be done
	Conflict bool   // the new base conflicts with the job's commits: nothing was changed
	Failed   string // what verify reported about the rebased commits, which were not pushed
}

// Rebase applies the commits of the job that a [history.Rebase] has chosen to the current base of
// its pull request, verifies the result and pushes it with a lease. It calls no model. The
// events are those of a run that is resumed and ended as before.
func Rebase(ctx context.Context, plan *tasks.Plan, o Options) (done Rebased, err error) {
	r := newRun(plan, o)
	at := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == o.History.Only() })
	if at < 0 {
		return done, fmt.Errorf("job %s is not in the plan", o.History.Only())
	}
	j := r.job(plan.Jobs[at])
	switch from := j.Start.Onto; {
	case j.Start.Skip != nil:
		return done, errors.New(j.Start.Skip.Detail)
	case from.Commit == "":
		return done, errors.New("the branch of the job has another commit")
	case from.Before == j.Start.Base:
		return Rebased{Current: true}, nil
	case j.Spec.Commit.ByForge():
		return done, errors.New("its commits are made by the forge (commit.sign: api)")
	}
	commit, err := replay(ctx, j)
	if errors.Is(err, gitops.ErrMerge) {
		return Rebased{Conflict: true}, nil
	}
	if err != nil {
		return done, err
	}
	r.opts.Emit(event.Event{Type: event.RunStarted, Run: Describe(r.Plan, r.opts)})
	failed, end := landRebased(ctx, j, commit)
	r.Close(ctx)
	ended := *j.History.End
	ended.ElapsedMS = j.History.Time().Milliseconds()
	r.opts.Emit(event.Event{Type: event.JobEnded, Job: j.Spec.ID, JobEnd: &ended})
	if last := o.History.Past.Ending; last != nil {
		r.opts.Emit(event.Event{Type: event.RunEnded, RunEnd: last})
	}
	switch {
	case end != nil:
		return done, errors.New(end.Detail)
	case failed != "":
		return Rebased{Failed: failed}, r.broken()
	}
	return Rebased{Commit: commit.Hash}, r.broken()
}

// replay makes the commits of the job again, on top of the new base, and returns the last one.
func replay(ctx context.Context, j *job) (*event.Commit, error) {
	repo, c := j.Start.Origin, &event.Commit{Hash: j.Start.Base, Branch: j.Spec.Commit.Branch}
	line, _, err := landing.OwnCommits(repo, j.Start.Onto.Commit, j.opts.RunID, j.Spec.ID)
	if err != nil {
		return nil, err
	}
	author, committer := j.Signatures()
	c.Author, c.Committer = author.String(), committer.String()
	for i := len(line) - 2; i >= 0; i-- {
		if c.Message, err = repo.Message(line[i]); err != nil {
			return nil, err
		}
		o := gitops.CommitOptions{Parent: c.Hash, Message: c.Message, Author: author, Committer: committer}
		if j.Spec.Commit.Signed() {
			o.Sign = func(ctx context.Context, commit []byte) (_ string, err error) {
				c.Signature, err = j.opts.Preflight.Signing.Sign(ctx, commit)
				return c.Signature, err
			}
		}
		hash, err := pick(ctx, repo, filepath.Join(j.opts.Work, fmt.Sprintf("rebase-%x", sha256.Sum256([]byte(j.Spec.ID)))[:19]), line[i+1], line[i], o)
		if err != nil {
			return nil, err
		}
		c.Hash = cmp.Or(hash, c.Hash) // "": the new base has the change
	}
	if c.Hash == j.Start.Base {
		return nil, errors.New("the base has all changes of the job")
	}
	return c, nil
}

// pick commits the difference of two commits on top of a parent; "" if nothing is left of it.
func pick(ctx context.Context, repo *gitops.Repo, dir, from, to string, o gitops.CommitOptions) (hash string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	tree, err := repo.AddWorktree(ctx, dir, o.Parent)
	if err != nil {
		return "", fmt.Errorf("check out the commit %.10s: %w", o.Parent, err)
	}
	defer func() { err = errors.Join(err, repo.RemoveWorktree(context.WithoutCancel(ctx), dir)) }()
	if err := gitops.Merge(ctx, tree, o.Parent, from, to); err != nil {
		return "", err
	}
	base, err := tree.SnapshotOf(o.Parent)
	if err != nil {
		return "", err
	}
	changes, err := tree.Changes(ctx, base)
	if err != nil || len(changes.Changes) == 0 {
		return "", err
	}
	done, err := tree.Commit(ctx, changes, o)
	return done.Hash, err
}

// landRebased verifies the rebased commit of the job and publishes it. failed is what verify
// reported.
func landRebased(ctx context.Context, j *job, c *event.Commit) (failed string, end *ending.Stop) {
	from := j.Start.Onto
	j.StartAt(c.Hash, j.Start.Tip)
	s, end := j.OpenSite(ctx)
	if end != nil {
		return "", end
	}
	defer s.Release(context.WithoutCancel(ctx), false)
	if end := s.Confine(ctx); end != nil {
		return "", end
	}
	j.started(s)
	if end := (site.Setup{Workdir: &s.Workdir, Within: s.Sandboxes.Own}).Run(ctx); end != nil {
		return "", end
	}
	ran, end := site.Verifier{Site: s}.All(ctx, j.History.Attempts)
	if end != nil {
		return "", end
	}
	if failed := commands.Failed(ran); len(failed) > 0 {
		return commands.Feedback(failed, j.opts.Dir), nil
	}
	j.Emit(event.Event{Type: event.Committed, Commit: c})
	d := &delivery.Delivery{Work: j.left(s), Made: gitops.CommitResult{Hash: c.Hash, Branch: c.Branch}}
	if end := d.Publish(ctx); end != nil {
		return "", end
	}
	if j.Spec.Repo.Kind != tasks.RepoPath {
		return "", nil
	}
	_, by := j.Signatures()
	if err := j.Start.Origin.MoveBranch(context.WithoutCancel(ctx), c.Branch, from.Commit, c.Hash, by); err != nil {
		j.Warn(fmt.Sprintf("the branch was pushed, and not moved in %s: %v", j.Start.Origin.Root(), err))
	}
	return "", nil
}
