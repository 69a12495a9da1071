package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// branchAt is a job's branch where it may be already.
type branchAt struct {
	tip    string // commit, whose objects are in the job's origin; "" for no such branch
	where  string // in words
	remote bool
}

// take decides what becomes of a branch that exists: the run is refused, the
// job is left out, or it begins from there or puts its commit there instead,
// if the branch is ours.
func (s *start) take(j tasks.Job, b branchAt) error {
	if b.tip == "" {
		return nil
	}
	switch j.Commit.IfExists {
	case tasks.SkipIfExists:
		s.skip = &stop{
			code:   event.CodeBranchExists,
			detail: fmt.Sprintf("branch %s already exists %s", j.Commit.Branch, b.where),
		}
		return nil
	case tasks.ReplaceIfExists, tasks.AppendIfExists:
	default:
		return refuse(event.CodeBranchExists, "branch %s already exists %s: delete it, choose another commit.branch, or set commit.if_exists", j.Commit.Branch, b.where)
	}
	if err := ours(s.origin, b.tip); err != nil {
		return refuse(event.CodeBranchForeign, "branch %s %s can't be changed: %w", j.Commit.Branch, b.where, err)
	}
	if b.remote {
		s.lease = b.tip
	} else {
		s.tip = b.tip
	}
	if j.Commit.IfExists == tasks.AppendIfExists {
		s.base = b.tip
	}
	return nil
}

// taskTrailer begins the line of a commit's message that says that millhand
// made it.
const taskTrailer = "Millhand-Task: "

// ours says why a commit is not one of millhand's, nil if it is.
func ours(repo *gitops.Repo, commit string) error {
	message, err := repo.Message(commit)
	if err != nil {
		return err
	}
	for line := range strings.Lines(message) {
		if strings.HasPrefix(line, taskTrailer) {
			return nil
		}
	}
	return fmt.Errorf("its last commit %.10s was not made by millhand (no %s trailer)", commit, strings.TrimSuffix(taskTrailer, " "))
}

// fetchedTip is the commit of a remote's branch as a mirror has it, "" for no
// such branch.
func fetchedTip(mirror *gitops.Repo, branch string) string {
	tip, err := mirror.Git.Resolve("refs/remotes/origin/" + branch)
	if err != nil {
		return ""
	}
	return tip
}

// branchAbove names a branch of the remote that has the place of a directory in the
// name of another: git has no room for both.
func branchAbove(mirror *gitops.Repo, branch string) string {
	for i, c := range branch {
		if c == '/' && fetchedTip(mirror, branch[:i]) != "" {
			return branch[:i]
		}
	}
	return ""
}

// onRemote looks at the branch on the remote that a path repository pushes to.
func (p *preflight) onRemote(ctx context.Context, j tasks.Job, o *origin, s start) (start, error) {
	var branches map[string]string
	var err error
	if s.remote, branches, err = o.remote(ctx); err != nil {
		s.skip, err = cannotAsk(err)
		return s, err
	}
	b := branchAt{tip: branches[j.Commit.Branch], where: "on " + s.remote.String(), remote: true}
	if b.tip != "" && (j.Commit.IfExists == tasks.ReplaceIfExists || j.Commit.IfExists == tasks.AppendIfExists) {
		ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, fmt.Errorf("timed out after %s", fetchTime))
		defer cancel()
		if b.tip, err = remote.Fetch(ctx, o.repo.Git, s.remote, j.Commit.Branch); err != nil {
			s.skip, err = cannotAsk(err)
			return s, err
		}
	}
	return s, s.take(j, b)
}

// cannotAsk makes a remote that does not answer the fault of the job that
// needs it. What is refused stays refused.
func cannotAsk(err error) (*stop, error) {
	var r *Refusal
	if errors.As(err, &r) {
		return nil, err
	}
	return notFetched("ask the remote for its branches", err), nil
}

// mirrorName names the directory of a url repository's mirror.
func mirrorName(r tasks.Repo) string {
	_, path, found := strings.Cut(r.URL, "://")
	if !found {
		path = r.URL
	}
	name := dirName(strings.TrimSuffix(path, ".git"))
	const most = 80
	if len(name) > most {
		name = name[len(name)-most:]
	}
	name = fmt.Sprintf("%s-%s", name, digest(r.URL)[:12])
	if r.Depth > 0 {
		name += fmt.Sprintf("-depth%d", r.Depth)
	}
	return name + ".git"
}
