package preflight

import (
	"context"
	"path"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/tasks"
)

// inPlace checks the working tree of the user that the job changes.
func (p *checker) inPlace(ctx context.Context, j tasks.Job, o *origin, s Start) (Start, error) {
	if c, found := p.committed(j, o.repo, o.head.Hash); found {
		return p.afterCommit(ctx, j, o, s, c)
	}
	if past := p.History.Past.Job(j.ID); past != nil && past.Start != nil {
		if past.Start.Base != o.head.Hash {
			return s, refuse(event.CodeBase, "%s is at commit %.10s, and the job started at %.10s: check that commit out to resume the job", o.repo.Root(), o.head.Hash, past.Start.Base)
		}
	} else if err := p.free(j, o, &s); err != nil {
		return s, err
	}
	var err error
	s.Skip, err = condition(j, func(name string) (bool, error) {
		if o.head.Unborn {
			return false, nil
		}
		return o.repo.Has(o.head.Hash, path.Join(s.Below, name))
	})
	if err != nil || s.Skip != nil {
		return s, err
	}
	if j.Commit != nil {
		if err := p.unlocked(ctx, j, o, &s, gitdir.BranchPrefix+o.head.Branch, filepath.Join(o.repo.Git.Own, "index")); err != nil {
			return s, err
		}
	}
	if err := p.filters(ctx, j, o, o.head.Hash); err != nil || !j.Publish.Pushes() || p.Local {
		return s, err
	}
	return p.inStep(ctx, o, s)
}

// inStep checks that the remote's branch is at the checked-out commit, so that a push
// adds only the job's commit.
func (p *checker) inStep(ctx context.Context, o *origin, s Start) (Start, error) {
	var branches map[string]string
	var err error
	if s.Remote, branches, err = o.remote(ctx); err != nil {
		s.Skip, err = cannotAsk(err)
		return s, err
	}
	if tip := branches[o.head.Branch]; tip != "" && tip != o.head.Hash {
		return s, refuse(event.CodeBranchForeign, "branch %s on %s is not at the checked-out commit: push or pull first", o.head.Branch, s.Remote)
	}
	return s, nil
}

// free refuses a tree with uncommitted changes of the user, unless the manifest allows it.
func (p *checker) free(j tasks.Job, o *origin, s *Start) error {
	if j.Repo.Ref != "" && !o.head.Unborn {
		return refuse(event.CodeBase, "%s is changed in place, so ref %s can't be used: remove ref, or commit to a separate branch", o.repo.Root(), j.Repo.Ref)
	}
	if what := o.repo.Git.OperationInProgress(); what != "" {
		return refuse(event.CodeDirty, "%s is in the middle of a %s: finish or abort it first", o.repo.Root(), what)
	}
	if p.plan.AllowDirty || o.head.Unborn || OnlyReads(p.plan, j) {
		return nil
	}
	found, err := o.status()
	if err != nil {
		return err
	}
	dirty, err := withoutArtifacts(o, found.Dirty)
	if err != nil {
		return err
	}
	if len(dirty) > 0 {
		return refuse(event.CodeDirty, "%s would be changed in place but has uncommitted changes (%s): commit or stash them, or set allow_dirty: true", filepath.Join(o.repo.Root(), o.below), textcut.List(dirty))
	}
	s.Clean = found.Clean
	return nil
}

// OnlyReads reports whether nothing that a job runs may change the tree, so that the user's own changes are
// never among the job's.
func OnlyReads(p *tasks.Plan, j tasks.Job) bool {
	return !j.Profile.MayChange() && j.Script == nil && len(j.Setup)+len(j.Verify)+len(p.Hooks)+len(p.Grants()) == 0
}

// withoutArtifacts returns the uncommitted paths except build artifacts, which are in no change of a job: those
// of an earlier job would otherwise refuse the next one.
func withoutArtifacts(o *origin, dirty []string) ([]string, error) {
	if len(dirty) == 0 {
		return nil, nil
	}
	committed, err := o.repo.SnapshotOf(o.head.Hash)
	if err != nil {
		return nil, err
	}
	built := changes.NewArtifacts(o.repo.Root(), committed)
	return slices.DeleteFunc(slices.Clone(dirty), built.Is), nil
}
