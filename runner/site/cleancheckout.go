package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// checkout is a fresh checkout of a commit, with sandboxes for the commands there.
type checkout struct {
	of    *Site
	at    Workdir
	box   *confinement.Confinement
	setup *confinement.Confinement // of setup commands; often box
}

// inClean runs setup and one verify command in a fresh checkout of the job's commit,
// under the job's profile. A setup command that fails there fails verify, and so does a
// change that can't be committed.
func (r Verifier) inClean(ctx context.Context, v tasks.Verify) (res commands.Ran, err error) {
	s := r.Site
	j := s.job
	began := j.opts.Now()
	restore, err := j.PrivateDirs().Replace(ctx, false)
	if err != nil {
		return res, err
	}
	dir := filepath.Join(j.opts.Work, "clean", j.Spec.ID)
	c := &checkout{of: s}
	defer func() {
		err = errors.Join(err, c.close(), sharedfile.RemoveAll(dir), restore())
		res.ElapsedMS = j.opts.Now().Sub(began).Milliseconds()
	}()
	err = r.checkOutCommit(ctx, c, dir)
	if refused := (*gitdir.UnsupportedError)(nil); errors.As(err, &refused) {
		text := j.opts.Redact.Held(refused.Error())
		return commands.Ran{Verify: event.Verify{ExitCode: -1, Tail: text}, Output: text, Line: text}, nil
	}
	if err != nil {
		return res, err
	}
	for _, line := range j.Spec.Setup {
		res, err := c.at.command(ctx, c.setup, line, setupTimeout)
		if err != nil || !res.Passed {
			res.Tail = fmt.Sprintf("setup command %q failed in a clean checkout (%s):\n%s", line, commands.ExitText(res.Verify), res.Tail)
			return res, err
		}
	}
	return c.at.command(ctx, c.box, v.Run, v.Time)
}

// checkOutCommit checks out the commit that the job would make now, and creates the sandbox for
// the commands there.
func (r Verifier) checkOutCommit(ctx context.Context, c *checkout, dir string) error {
	s := r.Site
	j := s.job
	f, err := s.Diff.Find(ctx)
	if err != nil {
		return err
	}
	message := "changes of job " + j.Spec.ID
	if j.Spec.Commit != nil {
		message = j.Message(s.Base, "", "")
	}
	author, committer := j.Signatures()
	if err := c.checkOut(ctx, dir, f.Changes, gitops.CommitOptions{Parent: s.Base, Message: message, Author: author, Committer: committer}); err != nil {
		return err
	}
	g, err := c.at.Ground(j.Spec.Profile)
	if err != nil {
		return err
	}
	g.Tell, g.Caches = j.Reaching(g.Tell), dir+".caches"
	return c.confine(ctx, g)
}

// checkOut makes a checkout of a commit, and opens the workspace in it.
func (c *checkout) checkOut(ctx context.Context, dir string, cs *state.ChangeSet, opts gitops.CommitOptions) error {
	s := c.of
	repo, err := s.Tree.CheckOut(ctx, dir, cs, opts)
	if err != nil {
		return err
	}
	below := filepath.Join(repo.Root(), filepath.FromSlash(s.Below))
	if err := os.MkdirAll(below, 0o777); err != nil { // the change may add the workspace, or remove all of its files
		return err
	}
	if err := owner.AllAs(s.Space.Dir(), dir); err != nil {
		return err
	}
	c.at = Workdir{job: s.job, Origin: repo, WorkTree: changes.WorkTree{Tree: repo, InPlace: true}, Below: s.Below, beside: s.beside}
	c.at.Space, err = workspace.Open(below)
	return err
}

// confine creates the sandboxes of a checkout, which can't access the job's workspace.
func (c *checkout) confine(ctx context.Context, g confinement.Env) (err error) {
	s := c.of
	g.Readable = s.Tree.Git.Objects.Dirs()
	if s.Sandboxes.Own != nil {
		g.Modules = s.Sandboxes.Own.Modules // the change could name others
	}
	if c.box, err = confinement.Open(ctx, g); err != nil {
		return err
	}
	if c.setup = c.box; len(s.job.Spec.Setup) > 0 {
		if c.setup, err = (Setup{Workdir: &c.at, Within: c.box}).confine(ctx, g, "it runs code of the agent's change"); err != nil {
			c.setup = c.box
		}
	}
	return err
}

// close releases the sandbox and the workspace.
func (c *checkout) close() error {
	var errs []error
	if c.setup != c.box {
		errs = append(errs, c.setup.Close())
	}
	errs = append(errs, c.box.Close())
	if c.at.Space != nil {
		errs = append(errs, c.at.Space.Close())
	}
	return errors.Join(errs...)
}
