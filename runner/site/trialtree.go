package site

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/runner/ablation"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// TrialTree is a clean checkout of the job's base, with what setup left there, in which verify commands run on other
// files of a change. It has its own sandbox and private directories, and nothing in it reaches the job's workspace.
type TrialTree struct {
	checkout
	job     *Job
	dir     string
	private confinement.PrivateDirs
	clean   *state.FullState // of the base
	ready   *state.FullState // after setup; nil before it
	inputs  string           // key of the files that setup has run on
	failed  string           // setup command that failed on them; "" for none
}

// OpenTrialTree makes the checkout with a number. The caller closes it.
func (r Verifier) OpenTrialTree(ctx context.Context, number int) (t *TrialTree, err error) {
	s := r.Site
	j := s.job
	t = &TrialTree{job: j, dir: filepath.Join(j.opts.Work, "trials", j.Spec.ID, strconv.Itoa(number))}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if err := sharedfile.RemoveAll(t.dir); err != nil { // of an earlier attempt
		return t, err
	}
	repo, err := s.Tree.CheckOut(ctx, filepath.Join(t.dir, "tree"), &state.ChangeSet{}, gitops.CommitOptions{Parent: s.Base})
	if err != nil {
		return t, err
	}
	if err := owner.AllAs(s.Space.Dir(), t.dir); err != nil {
		return t, err
	}
	t.at = Workdir{job: j, Origin: repo, WorkTree: changes.WorkTree{Tree: repo, InPlace: true}, Below: s.Below, beside: s.beside}
	below := filepath.Join(repo.Root(), filepath.FromSlash(s.Below))
	if err := os.MkdirAll(below, 0o777); err != nil { // the change may add the workspace
		return t, err
	}
	if t.at.Space, err = workspace.Open(below); err != nil {
		return t, err
	}
	t.private = confinement.PrivateDirs{Paths: []string{filepath.Join(t.dir, "home"), filepath.Join(t.dir, "tmp")}, Aside: filepath.Join(t.dir, "aside")}
	g, err := t.at.groundIn(j.Spec.Profile, t.private.Paths[0], t.private.Paths[1])
	if err != nil {
		return t, err
	}
	g.Readable, g.Caches = s.Tree.Git.Objects.Dirs(), filepath.Join(t.dir, "caches")
	if s.Sandboxes.Own != nil {
		g.Modules = s.Sandboxes.Own.Modules // the change could name others
	}
	if t.box, err = confinement.Open(ctx, g); err != nil {
		return t, err
	}
	if t.setup = t.box; len(j.Spec.Setup) > 0 {
		if t.setup, err = (Setup{Workdir: &t.at, Within: t.box}).confine(ctx, g, "it runs code of the agent's change"); err != nil {
			t.setup = t.box
			return t, err
		}
	}
	t.clean, err = repo.FullState(ctx, nil)
	return t, err
}

// Close removes the checkout.
func (t *TrialTree) Close() error { return errors.Join(t.close(), sharedfile.RemoveAll(t.dir)) }

// Base returns what a path is in the base. It can only be asked before the first trial.
func (t *TrialTree) Base(name string) (ablation.Content, error) {
	return ablation.ContentIn(t.at.Tree.Root(), name)
}

// Try runs verify commands on files of the change, beside the unchanged ones, and returns the names of those that failed: the
// first one, or of all. An error means that the context ended, or that the machine could not run them.
func (t *TrialTree) Try(ctx context.Context, tree ablation.Tree, verify []tasks.Verify, all bool) (failed []string, err error) {
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
func (t *TrialTree) prepare(ctx context.Context, tree ablation.Tree) error {
	var inputs ablation.Tree
	for _, e := range tree {
		if len(t.job.Spec.Setup) > 0 && ecosystem.NamesDependencies(path.Base(e.Path)) {
			inputs = append(inputs, e)
		}
	}
	if key := inputs.Key(); t.ready == nil || key != t.inputs {
		if err := t.setUp(ctx, inputs, key); err != nil {
			return err
		}
	}
	if err := t.at.Tree.Restore(ctx, t.ready); err != nil {
		return err
	}
	return t.write(tree)
}

// setUp runs the setup commands on the base with some files of the change.
func (t *TrialTree) setUp(ctx context.Context, inputs ablation.Tree, key string) error {
	t.ready, t.failed = nil, ""
	if err := t.at.Tree.Restore(ctx, t.clean); err != nil {
		return err
	}
	if err := t.write(inputs); err != nil {
		return err
	}
	for _, dir := range t.private.Paths {
		if err := errors.Join(sharedfile.RemoveAll(dir), confinement.MakePrivate(dir), owner.As(t.at.Space.Dir(), dir)); err != nil {
			return err
		}
	}
	for _, line := range t.job.Spec.Setup {
		res, err := t.at.command(ctx, t.setup, line, setupTimeout)
		if err != nil {
			return err
		}
		t.forget(res)
		if !res.Passed {
			t.failed = line
			break
		}
	}
	if err := errors.Join(t.private.Remove(), t.private.Save(ctx)); err != nil {
		return err
	}
	var err error
	t.ready, err = t.at.Tree.FullState(ctx, nil)
	t.inputs = key
	return err
}

// run runs one verify command. A check runs its tests although the same ones have passed before.
func (t *TrialTree) run(ctx context.Context, v tasks.Verify, check bool) (res commands.Ran, err error) {
	restore, err := t.private.Replace(ctx, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	line := v.Run
	if check {
		line = "export GOFLAGS=\"${GOFLAGS:-} -count=1\"\n" + line // go test repeats passed results otherwise
	}
	res, err = t.at.command(ctx, t.box, line, v.Time)
	t.forget(res)
	return res, err
}

// forget removes the output of a command: it has the result of a trial only.
func (t *TrialTree) forget(res commands.Ran) {
	if res.OutputPath != "" {
		t.job.opts.Dir.Remove(res.OutputPath) //nolint:errcheck // an extra file is harmless
	}
}

// write makes files what they are in a trial.
func (t *TrialTree) write(tree ablation.Tree) error {
	if err := tree.WriteTo(t.at.Tree.Root()); err != nil {
		return err
	}
	return owner.AllAs(t.dir, t.at.Tree.Root())
}
