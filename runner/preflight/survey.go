package preflight

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

const jobNeeds = "the job needs others"

// ModelOutput returns why commands of the manifest could run output of a model before the
// agent starts; "" if they could not. Dirty has uncommitted changes of the user's own tree.
func ModelOutput(ctx context.Context, spec tasks.Job, repo *gitops.Repo, base string, dirty []string) (string, error) {
	switch {
	case len(spec.Needs) > 0:
		return jobNeeds, nil
	case len(dirty) > 0:
		return fmt.Sprintf("there are uncommitted changes (%s)", textcut.List(dirty)), nil
	case base == "":
		return "", nil
	}
	main, err := repo.Git.Default()
	if err != nil {
		return "", err
	}
	messages, complete, err := repo.Beyond(ctx, base, main)
	switch {
	case err != nil:
		return "", err
	case slices.ContainsFunc(messages, trailers.Contains):
		return "the branch has commits of millhand that the default branch doesn't have", nil
	case !complete && main == "":
		return "the default branch is unknown and the history is incomplete (in GitHub Actions, check out with fetch-depth: 0)", nil
	case !complete:
		return "the history is incomplete (in GitHub Actions, check out with fetch-depth: 0)", nil
	}
	return "", nil
}

// SetupOf returns what the setup commands of a job get, as far as it is known before the run:
// false for a repository that was not checked. It is not safe for concurrent use.
func (r *Result) SetupOf(ctx context.Context, spec tasks.Job, getenv func(string) string) (confinement.Setup, bool, error) {
	s := r.Starts[spec.ID]
	if s.Origin == nil && spec.Repo.Kind != tasks.RepoCopy {
		return confinement.Setup{}, false, nil
	}
	at := strings.Join([]string{key(spec.Repo), s.Base, s.Below}, "\x00")
	found, ok := r.surveys[at]
	if !ok {
		var err error
		if found, err = surveyOf(ctx, spec.Repo, s); err != nil {
			return confinement.Setup{}, false, err
		}
		if r.surveys == nil {
			r.surveys = map[string]survey{}
		}
		r.surveys[at] = found
	}
	if len(spec.Needs) > 0 {
		found.output = jobNeeds
	}
	u, err := confinement.NewSetup(spec, found.ecosystems, found.output, getenv)
	return u, true, err
}

// survey is what setup depends on in a repository, for all jobs that start there.
type survey struct {
	ecosystems []ecosystem.Found
	output     string
}

// surveyOf looks at a repository as a job finds it: at its base, or in a tree on this machine.
func surveyOf(ctx context.Context, repo tasks.Repo, s Start) (found survey, err error) {
	switch {
	case repo.Kind == tasks.RepoCopy:
		found.ecosystems, err = ecosystem.DetectAll(repo.Dir)
	case s.Base == "":
		dirty, err := DirtyBelow(ctx, s.Origin, "")
		if err != nil {
			return found, err
		}
		head, err := s.Origin.Git.Head()
		if err != nil {
			return found, err
		}
		if found.output, err = ModelOutput(ctx, tasks.Job{}, s.Origin, head.Hash, dirty); err != nil {
			return found, err
		}
		found.ecosystems, err = ecosystem.DetectAll(s.Origin.Root(), filepath.Join(s.Origin.Root(), s.Below))
		return found, err
	default:
		if found.output, err = ModelOutput(ctx, tasks.Job{}, s.Origin, s.Base, nil); err != nil {
			return found, err
		}
		files, err := s.Origin.SnapshotOf(s.Base)
		if err != nil {
			return found, err
		}
		found.ecosystems = ecosystem.DetectIn(files.Paths())
		if s.Below != "" {
			found.ecosystems = append(found.ecosystems, ecosystem.DetectIn(below(files.Paths(), s.Below))...)
		}
	}
	return found, err
}

// below returns the paths in a directory, relative to it.
func below(paths []string, dir string) []string {
	var list []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			list = append(list, rest)
		}
	}
	return list
}
