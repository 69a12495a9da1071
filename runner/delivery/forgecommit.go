package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// signing returns how the forge makes the job's commit; nil if it does not.
func (d *Delivery) signing() (*publish.Signing, error) {
	repo, made := d.Site.Origin, d.Made.Hash
	if !d.Job.Spec.Commit.ByForge() || d.Job.Start.Signer.Client == nil {
		return nil, nil //nolint:nilnil // the usual case
	}
	s := d.Job.Start.Signer
	s.Branch = publish.SigningPrefix + d.Options.RunID + "/" + d.Job.Spec.ID
	if signed, err := repo.Signed(made); err != nil || signed { // an earlier process has fetched it
		return &s, err
	}
	line, err := repo.FirstParents(made, 2)
	if err == nil && len(line) < 2 {
		err = errors.New("it has no parent")
	}
	if err != nil {
		return nil, err
	}
	message, err := repo.Message(made)
	if err != nil {
		return nil, err
	}
	s.Base = line[1]
	s.New = func() (forge.NewCommit, error) {
		files, err := d.filesByForge(s.Base, made)
		return forge.NewCommit{Message: message, Files: files}, err
	}
	s.Check = func(hash string) error { return d.sameCommit(made, hash) }
	s.Made = func(ctx context.Context, hash string) error {
		if d.Job.Spec.Repo.Kind == tasks.RepoPath {
			_, committer := d.Job.Signatures()
			if err := repo.MoveBranch(ctx, d.Made.Branch, made, hash, committer); err != nil {
				return err
			}
		}
		d.Made.Hash = hash
		d.Job.Emit(event.Event{Type: event.Committed, Commit: &event.Commit{Hash: hash, Branch: d.Made.Branch, Message: message}})
		return nil
	}
	return &s, nil
}

// filesByForge returns the changes of a commit, if the forge can make it.
func (d *Delivery) filesByForge(base, made string) ([]forge.File, error) {
	changed, err := d.Site.Origin.Difference(base, made, forge.MaxCommit)
	if err != nil {
		return nil, fmt.Errorf("sign: api: %w; use sign: ssh", err)
	}
	files := make([]forge.File, len(changed))
	for i, v := range changed {
		if v.Kind != "" {
			return nil, fmt.Errorf("sign: api: GitHub can't commit %s, which is %s; use sign: ssh or openpgp", v.Path, v.Kind)
		}
		files[i] = forge.File{Path: v.Path, Content: v.Content, Deleted: v.Deleted}
	}
	return files, nil
}

// sameCommit returns an error unless the forge's commit has the files and the parent of the
// job's commit, and a signature.
func (d *Delivery) sameCommit(made, hash string) error {
	repo := d.Site.Origin
	trees, parents := [2]string{}, [2]string{}
	for i, c := range []string{made, hash} {
		line, err := repo.FirstParents(c, 2)
		if err == nil && len(line) == 2 {
			parents[i] = line[1]
			trees[i], err = repo.RootTree(c)
		}
		if err != nil {
			return err
		}
	}
	signed, err := repo.Signed(hash)
	switch {
	case err != nil:
		return err
	case trees[0] != trees[1] || parents[0] != parents[1]:
		return fmt.Errorf("sign: api: the commit %.10s of the forge has other files or another parent than the job's; use sign: ssh or openpgp", hash)
	case !signed:
		return fmt.Errorf("sign: api: the forge did not sign its commit %.10s: check whether the server signs commits that are made on it", hash)
	}
	return nil
}
