package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/gitops/store"
)

// CheckOut makes a private repository in a directory that is missing or empty, with a
// detached HEAD at the commit that Commit would make of the changes with these options,
// or at the parent if there are none, and checks it out. It has the references of r and
// borrows its objects; its own objects are in the directory, so that removing the
// directory leaves nothing behind. It has no remotes and no configuration of r.
//
// Errors are those of Commit; branches and signatures are ignored.
func (r *Repo) CheckOut(ctx context.Context, dir string, cs *state.ChangeSet, o CommitOptions) (*Repo, error) {
	clean, err := r.checkOut(ctx, dir, cs, o)
	if err != nil {
		return nil, fmt.Errorf("check out the changes of %s: %w", r.Git.Root, err)
	}
	return clean, nil
}

// CheckOutState is CheckOut with a commit of a state that [state.Checkpoints] have saved in a directory, which the repository borrows
// from, too.
func (r *Repo) CheckOutState(ctx context.Context, dir, states, tree string, o CommitOptions) (*Repo, error) {
	clean, err := r.checkOutState(ctx, dir, states, tree, o)
	if err != nil {
		return nil, fmt.Errorf("check out the saved state %.10s of %s: %w", tree, r.Git.Root, err)
	}
	return clean, nil
}

func (r *Repo) checkOutState(ctx context.Context, dir, states, tree string, o CommitOptions) (*Repo, error) {
	if !(state.Checkpoints{Reader: r.Reader, Store: states}).Has(tree) {
		return nil, errors.New("objects of it are missing")
	}
	clean, err := r.private(dir, states)
	if err != nil {
		return nil, err
	}
	w, err := store.New(clean.Git.Objects, r.packing)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	root := plumbing.NewHash(tree)
	if err := storeRoot(w, root); err != nil {
		return nil, err
	}
	commit, err := storeCommit(ctx, w, root, o)
	if err == nil {
		err = w.Finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	return clean, clean.detach(ctx, r, commit)
}

// private makes an empty private repository that borrows the objects of r, and those in other directories.
func (r *Repo) private(dir string, objects ...string) (*Repo, error) {
	dir, err := emptyDirectory(dir)
	if err != nil {
		return nil, err
	}
	if err := initialise(dir); err != nil {
		return nil, err
	}
	if err := r.lend(filepath.Join(dir, ".git"), objects...); err != nil {
		return nil, err
	}
	return Open(dir, r.Git.Env)
}

// detach checks out a commit of a private repository of r, at which HEAD is detached.
func (r *Repo) detach(ctx context.Context, from *Repo, commit plumbing.Hash) error {
	if err := os.WriteFile(filepath.Join(r.Git.Own, "HEAD"), []byte(commit.String()+"\n"), 0o666); err != nil {
		return err
	}
	return writeFiles(ctx, r.Reader, from.Reader, commit.String())
}

func (r *Repo) checkOut(ctx context.Context, dir string, cs *state.ChangeSet, o CommitOptions) (*Repo, error) {
	clean, err := r.private(dir)
	if err != nil {
		return nil, err
	}
	o.Sign = nil // its hash differs anyway, by the time
	c := &committing{repo: r, cs: cs, o: o}
	commit := plumbing.NewHash(o.Parent)
	if len(cs.Changes)+len(cs.Refused) > 0 {
		w, err := store.New(clean.Git.Objects, r.packing)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		if err = c.check(); err == nil {
			commit, _, _, err = c.store(ctx, clean.Git.Objects, w)
		}
		if errors.Is(err, ErrNothingToCommit) {
			commit, err = plumbing.NewHash(o.Parent), nil
		}
		if err != nil {
			return nil, err
		}
	}
	if commit.IsZero() {
		return clean, nil // no commit at all: HEAD is an unborn branch
	}
	return clean, clean.detach(ctx, r, commit)
}

// lend lets a new git directory borrow the objects and references of the repository, and objects in other directories.
func (r *Repo) lend(git string, objects ...string) error {
	refs, err := r.Git.Refs()
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&packed, "%s %s\n", refs[name], name)
	}
	shallow, err := sharedfile.ReadOptional(filepath.Join(r.Git.Common, "shallow"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"packed-refs": packed.Bytes(), "shallow": shallow,
		"objects/info/alternates": []byte(strings.Join(append(r.Git.Objects.Dirs(), objects...), "\n") + "\n"),
	} {
		if len(text) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(git, filepath.FromSlash(name)), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles checks out a commit in an empty work tree: with the git program if there is
// one and the result or the time would differ, otherwise as AddWorktree does. Files are copied from another work tree.
func writeFiles(ctx context.Context, to, from *state.Reader, commit string) error {
	files, err := checkoutOf(to, from, commit)
	if err != nil {
		return err
	}
	if to.Git.Env.GitProgram == "" || files.plain() {
		return files.write(ctx, to.Git.Root, to.Git.Own)
	}
	settings, _, err := gitSettings(to.Git)
	if err != nil {
		return err
	}
	return runGit(ctx, to.Git, to.Git.Root, append(slices.Clip(settings), "--git-dir="+to.Git.Own, "--work-tree="+to.Git.Root, "reset", "--quiet", "--hard"))
}
