package site

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// verifiesWorkspace reports whether a job has verify commands that run in its workspace.
func verifiesWorkspace(j tasks.Job) bool {
	return slices.ContainsFunc(j.Verify, func(v tasks.Verify) bool { return v.In != tasks.InClean })
}

// AfterSetup saves the private directories as setup left them; without setup they have the
// user's settings of registries.
func (j *Job) AfterSetup(ctx context.Context) *ending.Stop {
	if !verifiesWorkspace(j.Spec) && j.Spec.Script == nil {
		return nil
	}
	if err := j.PrivateDirs().Save(ctx); err != nil {
		return j.NotVerified(ctx, err)
	}
	return nil
}

// BeforeAgent records the state that setup and the baseline left. Without them that can be done
// beside the first request.
func (s *Site) BeforeAgent(ctx context.Context) *ending.Stop {
	if s.opening != nil {
		return nil
	}
	return s.noteStart(ctx)
}

// noteStart records the state of the files that are in no change of the job.
func (s *Site) noteStart(ctx context.Context) *ending.Stop {
	j := s.job
	err := s.NoteStart(ctx, len(j.Spec.Setup) > 0 && verifiesWorkspace(j.Spec), j.OnlyCalls())
	if err != nil {
		return j.NotVerified(ctx, err)
	}
	return nil
}

// ownPaths returns the paths in the tree that belong to millhand.
func (w *Workdir) ownPaths() (without []string) {
	for _, dir := range w.hidden() {
		if rel, err := filepath.Rel(w.Tree.Root(), dir); err == nil {
			without = append(without, filepath.ToSlash(rel))
		}
	}
	return without
}
