package site

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
)

// BaseCheckout is a clean checkout of the job's base, with its own sandbox and private directories: nothing in it
// reaches the job's workspace. The output of its commands is removed.
type BaseCheckout struct {
	checkout
	dir     string
	private confinement.PrivateDirs
}

// OpenBase makes a checkout of the base with a name. The caller closes it.
func (r Verifier) OpenBase(ctx context.Context, name string) (c *BaseCheckout, err error) {
	j := r.Site.job
	c = &BaseCheckout{checkout: checkout{of: r.Site}, dir: filepath.Join(j.opts.Work, "trials", j.Spec.ID, name)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := sharedfile.RemoveAll(c.dir); err != nil { // of an earlier attempt
		return c, err
	}
	if err := c.checkOut(ctx, filepath.Join(c.dir, "tree"), &state.ChangeSet{}, gitops.CommitOptions{Parent: r.Site.Base}); err != nil {
		return c, err
	}
	c.private = confinement.PrivateDirs{Paths: []string{filepath.Join(c.dir, "home"), filepath.Join(c.dir, "tmp")}, Aside: filepath.Join(c.dir, "aside")}
	g, err := c.at.groundIn(j.Spec.Profile, c.private.Paths[0], c.private.Paths[1])
	if err != nil {
		return c, err
	}
	g.Caches = filepath.Join(c.dir, "caches")
	return c, c.confine(ctx, g)
}

// Close removes the checkout.
func (c *BaseCheckout) Close() error { return errors.Join(c.close(), sharedfile.RemoveAll(c.dir)) }

// Tree returns the repository of the checkout.
func (c *BaseCheckout) Tree() *gitops.Repo { return c.at.Tree }

// Own makes all files those of the user that commands run as.
func (c *BaseCheckout) Own() error { return owner.AllAs(c.dir, c.at.Tree.Root()) }

// RunSetup empties the private directories, and runs the setup commands until one fails, which it returns; "" for none.
// Verify commands get the private directories as it leaves them.
func (c *BaseCheckout) RunSetup(ctx context.Context) (failed string, err error) {
	for _, dir := range c.private.Paths {
		if err := errors.Join(sharedfile.RemoveAll(dir), confinement.MakePrivate(dir), owner.As(c.at.Space.Dir(), dir)); err != nil {
			return "", err
		}
	}
	for _, line := range c.at.job.Spec.Setup {
		res, err := c.run(ctx, c.setup, line, setupTimeout)
		if err != nil {
			return "", err
		}
		if !res.Passed {
			failed = line
			break
		}
	}
	return failed, errors.Join(c.private.Remove(), c.private.Save(ctx))
}

// RunVerify runs the line of a verify command.
func (c *BaseCheckout) RunVerify(ctx context.Context, line string, limit time.Duration) (res commands.Ran, err error) {
	restore, err := c.private.Replace(ctx, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return c.run(ctx, c.box, line, limit)
}

// run runs a command, and removes its output.
func (c *BaseCheckout) run(ctx context.Context, box *confinement.Confinement, line string, limit time.Duration) (commands.Ran, error) {
	res, err := c.at.command(ctx, box, line, limit)
	if res.OutputPath != "" {
		c.at.job.opts.Dir.Remove(res.OutputPath) //nolint:errcheck // an extra file is harmless
	}
	return res, err
}
