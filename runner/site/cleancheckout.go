package site

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// checkout is a fresh checkout of the commit that a job would make now, for one verify
// command.
type checkout struct {
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
	c := &checkout{}
	defer func() {
		err = errors.Join(err, c.close(), sharedfile.RemoveAll(dir), restore())
		res.ElapsedMS = j.opts.Now().Sub(began).Milliseconds()
	}()
	err = r.checkOut(ctx, c, dir)
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

// checkOut checks out the commit that the job would make now, and creates the sandbox for
// the commands there, which can't access the job's workspace.
func (r Verifier) checkOut(ctx context.Context, c *checkout, dir string) error {
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
	repo, err := s.Tree.CheckOut(ctx, dir, f.Changes, gitops.CommitOptions{Parent: s.Base, Message: message, Author: author, Committer: committer})
	if err != nil {
		return err
	}
	if err := owner.AllAs(s.Space.Dir(), dir); err != nil {
		return err
	}
	c.at = Workdir{job: j, Origin: repo, WorkTree: changes.WorkTree{Tree: repo, InPlace: true}, Below: s.Below, beside: s.beside}
	if c.at.Space, err = workspace.Open(filepath.Join(repo.Root(), filepath.FromSlash(s.Below))); err != nil {
		return err
	}
	g, err := c.at.Ground(j.Spec.Profile)
	if err != nil {
		return err
	}
	g.Tell = j.Reaching(g.Tell)
	g.Readable, g.Caches = s.Tree.Git.Objects.Dirs(), dir+".caches"
	if s.Sandboxes.Own != nil {
		g.Modules = s.Sandboxes.Own.Modules // the change could name others
	}
	if c.box, err = confinement.Open(ctx, g); err != nil || len(j.Spec.Setup) == 0 {
		c.setup = c.box
		return err
	}
	c.setup, err = Setup{Workdir: &c.at, Within: c.box}.confine(ctx, g, "it runs code of the agent's change")
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
