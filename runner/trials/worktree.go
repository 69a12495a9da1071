package trials

import (
	"context"
	"errors"
	"path"
	"strconv"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/ablation"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// workTree is a clean checkout of the job's base, with what setup left there, in which verify commands run on other
// files of a change.
type workTree struct {
	*site.BaseCheckout
	setup  []string
	clean  *state.FullState // of the base
	ready  *state.FullState // after setup; nil before it
	inputs string           // key of the files that setup has run on
	failed string           // setup command that failed on them; "" for none
}

// open makes the checkout with a number. The caller closes it.
func open(ctx context.Context, s *site.Site, setup []string, number int) (t *workTree, err error) {
	c, err := (site.Verifier{Site: s}).OpenBase(ctx, strconv.Itoa(number))
	if err != nil {
		return nil, err
	}
	t = &workTree{BaseCheckout: c, setup: setup}
	if t.clean, err = c.Tree().FullState(ctx, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return t, nil
}

// base returns what a path is in the base. It can only be asked before the first trial.
func (t *workTree) base(name string) (ablation.Content, error) {
	return ablation.ContentIn(t.Tree().Root(), name)
}

// try runs verify commands on files of the change, beside the unchanged ones, and returns the names of those that failed: the
// first one, or of all. An error means that the context ended, or that the machine could not run them.
func (t *workTree) try(ctx context.Context, tree ablation.Tree, verify []tasks.Verify, all bool) (failed []string, err error) {
	if err := t.prepare(ctx, tree); err != nil {
		return nil, err
	}
	if t.failed != "" {
		return []string{t.failed}, nil
	}
	for _, v := range verify {
		res, err := t.run(ctx, v, all)
		if err != nil {
			return nil, err
		}
		if !res.Passed {
			if failed = append(failed, v.Name); !all {
				break
			}
		}
	}
	return failed, nil
}

// prepare makes the tree that of a trial. Setup runs on the base, and again if files differ that name dependencies.
func (t *workTree) prepare(ctx context.Context, tree ablation.Tree) error {
	var inputs ablation.Tree
	for _, e := range tree {
		if len(t.setup) > 0 && ecosystem.NamesDependencies(path.Base(e.Path)) {
			inputs = append(inputs, e)
		}
	}
	if key := inputs.Key(); t.ready == nil || key != t.inputs {
		if err := t.setUp(ctx, inputs, key); err != nil {
			return err
		}
	}
	if err := t.Tree().Restore(ctx, t.ready); err != nil {
		return err
	}
	return t.write(tree)
}

// setUp runs the setup commands on the base with some files of the change.
func (t *workTree) setUp(ctx context.Context, inputs ablation.Tree, key string) error {
	t.ready, t.failed = nil, ""
	if err := t.Tree().Restore(ctx, t.clean); err != nil {
		return err
	}
	if err := t.write(inputs); err != nil {
		return err
	}
	var err error
	if t.failed, err = t.RunSetup(ctx); err != nil {
		return err
	}
	t.ready, err = t.Tree().FullState(ctx, nil)
	t.inputs = key
	return err
}

// run runs one verify command. A check runs its tests although the same ones have passed before.
func (t *workTree) run(ctx context.Context, v tasks.Verify, check bool) (commands.Ran, error) {
	line := v.Run
	if check {
		line = "export GOFLAGS=\"${GOFLAGS:-} -count=1\"\n" + line // go test repeats passed results otherwise
	}
	return t.RunVerify(ctx, line, v.Time)
}

// write makes files what they are in a trial.
func (t *workTree) write(tree ablation.Tree) error {
	if err := tree.WriteTo(t.Tree().Root()); err != nil {
		return err
	}
	return t.Own()
}
