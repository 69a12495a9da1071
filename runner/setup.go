package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/trailers"
	"github.com/millhand/millhand/tasks"
)

// setUp runs the hooks of job_start and the setup commands. What they leave in the workspace is not
// the agent's.
func (r jobHooks) setUp(ctx context.Context) *ending.Stop {
	j, s := r.job, r.site
	fresh := !s.InPlace // otherwise it may be as an earlier process left it
	start, setup := r.start, func(ctx context.Context) *ending.Stop { return j.setup(ctx, s) }
	if slices.ContainsFunc(j.plan.Hooks, func(h tasks.Hook) bool { return h.On == tasks.JobStart }) {
		start = func(ctx context.Context) *ending.Stop { return s.diff.By(ctx, event.ByHook, fresh, r.start) }
	}
	if len(j.spec.Setup) > 0 {
		setup = func(ctx context.Context) *ending.Stop {
			return s.diff.By(ctx, event.BySetup, fresh && !s.hasHooks(tasks.JobStart), func(ctx context.Context) *ending.Stop { return j.setup(ctx, s) })
		}
	}
	return ending.First(ctx, start, setup)
}

const jobNeeds = "the job needs others"

// modelOutput returns why commands of the manifest could run output of a model before the
// agent starts; "" if they could not. Dirty has uncommitted changes of the user's own tree.
func modelOutput(ctx context.Context, spec tasks.Job, repo *gitops.Repo, base string, dirty []string) (string, error) {
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
	case slices.ContainsFunc(messages, func(m string) bool { return trailers.Read(m).Ours() }):
		return "the branch has commits of millhand that the default branch doesn't have", nil
	case !complete && main == "":
		return "the default branch is unknown and the history is incomplete", nil
	case !complete:
		return "the history is incomplete", nil
	}
	return "", nil
}

// SetupOf returns what the setup commands of a job get, as far as it is known before the run:
// false for a repository that was not checked. It is not safe for concurrent use.
func (r *PreflightResult) SetupOf(ctx context.Context, spec tasks.Job, getenv func(string) string) (confinement.Setup, bool, error) {
	s := r.starts[spec.ID]
	if s.origin == nil && spec.Repo.Kind != tasks.RepoCopy {
		return confinement.Setup{}, false, nil
	}
	at := strings.Join([]string{key(spec.Repo), s.base, s.below}, "\x00")
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
func surveyOf(ctx context.Context, repo tasks.Repo, s start) (found survey, err error) {
	switch {
	case repo.Kind == tasks.RepoCopy:
		found.ecosystems, err = detectIn(repo.Dir)
	case s.base == "":
		dirty, err := dirtyBelow(ctx, s.origin, "")
		if err != nil {
			return found, err
		}
		head, err := s.origin.Git.Head()
		if err != nil {
			return found, err
		}
		if found.output, err = modelOutput(ctx, tasks.Job{}, s.origin, head.Hash, dirty); err != nil {
			return found, err
		}
		found.ecosystems, err = detectIn(s.origin.Root(), filepath.Join(s.origin.Root(), s.below))
		return found, err
	default:
		if found.output, err = modelOutput(ctx, tasks.Job{}, s.origin, s.base, nil); err != nil {
			return found, err
		}
		files, err := s.origin.SnapshotOf(s.base)
		if err != nil {
			return found, err
		}
		found.ecosystems = ecosystem.DetectIn(files.Paths())
		if s.below != "" {
			found.ecosystems = append(found.ecosystems, ecosystem.DetectIn(below(files.Paths(), s.below))...)
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

// detectIn returns the package managers of directories.
func detectIn(dirs ...string) ([]ecosystem.Found, error) {
	var all []ecosystem.Found
	for _, dir := range slices.Compact(dirs) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		found, err := ecosystem.Detect(root)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// setupOf returns what the setup commands in a site get.
func (j *job) setupOf(ctx context.Context, s *site, output string) (confinement.Setup, error) {
	if output == "" {
		var dirty []string
		var err error
		if s.InPlace {
			if dirty, err = dirtyBelow(ctx, s.Tree, ""); err != nil {
				return confinement.Setup{}, err
			}
		}
		if output, err = modelOutput(ctx, j.spec, s.origin, s.base, dirty); err != nil {
			return confinement.Setup{}, err
		}
	}
	found, err := detectIn(s.Tree.Root(), s.space.Dir())
	if err != nil {
		return confinement.Setup{}, err
	}
	u, err := confinement.NewSetup(j.spec, found, output, j.opts.Getenv)
	if err != nil {
		j.warn(fmt.Sprintf("the registries of setup commands: %v", err))
	}
	return u, nil
}

// confineSetup creates the sandbox of the setup commands in a site: with the files and limits
// of another one there, and the network and the variables of setup. The caller closes it
// when they have ended.
func (j *job) confineSetup(ctx context.Context, s *site, g confinement.Env, within *confinement.Confinement, output string) (*confinement.Confinement, error) {
	u, err := j.setupOf(ctx, s, output)
	if err != nil {
		return nil, err
	}
	g.Profile, g.Within, g.Setup = u.Profile, within, &u
	for _, dir := range u.Settings.Dirs {
		if dir = g.UserCache(dir); dir != "" {
			g.Readable = append(slices.Clip(g.Readable), dir)
		}
	}
	c, err := confinement.Open(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := j.equip(c, u, g.Home); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// equip gives the confinement of setup commands the user's settings of registries, and their
// own variables.
func (j *job) equip(c *confinement.Confinement, u confinement.Setup, home string) error {
	if err := c.UseRegistries(u, home); err != nil {
		return err
	}
	if u.Output != "" && len(j.spec.SetupEnv) > 0 {
		j.warn(fmt.Sprintf("setup commands don't get setup_env (%s): %s", strings.Join(j.spec.SetupEnv, ", "), u.Output))
		return nil
	}
	for _, name := range j.spec.SetupEnv {
		c.Env = proc.Set(c.Env, name, j.opts.Getenv(name))
	}
	return nil
}
