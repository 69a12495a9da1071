package preflight

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// OnPull is the branch of a pull request that a job works on; the zero value for other jobs.
type OnPull struct {
	Branch string
	// Trusted is the commit of the base that has the instructions and skills of the job: the head may have others.
	Trusted string
}

// Applied returns a job with the branch.
func (on OnPull) Applied(j tasks.Job) tasks.Job {
	if on.Branch == "" {
		return j
	}
	return j.OnBranch(on.Branch, j.Repo.Ref)
}

const onPullKey = "commit.branch: " + tasks.PullRequestBranch

// pullBranches finds the branches of pull requests that jobs work on.
type pullBranches struct {
	targets
	plan  *tasks.Plan
	local bool              // see Options.Local
	warn  func(text string) // for the start of the run
}

// find finds the branch of the pull request of the event, and returns the job on its head. It refuses what others than people
// with write access can have pushed: a branch of a fork.
func (p pullBranches) find(ctx context.Context, j tasks.Job) (tasks.Job, OnPull, *ending.Stop, error) {
	o := p.origins.of(j)
	if !j.Commit.OnPull() || j.Skip != "" || o == nil || p.local {
		return j, OnPull{}, nil, nil
	}
	if o.err != nil {
		return j, OnPull{}, nil, nil //nolint:nilerr // the job is refused for it later
	}
	fail := func(format string, args ...any) (tasks.Job, OnPull, *ending.Stop, error) {
		return j, OnPull{}, nil, refuse(event.CodeRemote, onPullKey+": "+format, args...)
	}
	on := j.Commit.PullRequest
	if on.Number == 0 || on.Issue {
		return fail("there is no event about a pull request (GITHUB_EVENT_PATH): run it in a workflow that a comment on one starts")
	}
	if p.plan.Scripts.OfWorkspace() {
		return fail("tool files and plugins of the workspace are those of the pull request: name files beside the manifest")
	}
	to, err := p.of(j, onPullKey)
	if err != nil {
		return j, OnPull{}, nil, err
	}
	if !strings.EqualFold(on.Repo, to.Repo.String()) {
		return fail("the event is about %s, not %s", textcut.OneLine(on.Repo), to.Repo)
	}
	pr, err := to.Client.Pull(ctx, to.Repo, on.Number)
	if errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrLimited) {
		return j, OnPull{}, notFetched("get the pull request", err), nil
	}
	switch {
	case err != nil:
		return fail("%w", err)
	case pr.State != forge.Open:
		return fail("%s is %s", pr.URL, pr.State)
	case pr.Head.Repo != (forge.Path{}):
		return fail("%s comes from the fork %s, whose author has no write access here: a writer can push the branch to %s and open a pull request for it", pr.URL, pr.Head.Repo, to.Repo)
	}
	tips, at, err := p.tips(ctx, j, o, pr.Head.Branch, pr.Base)
	if err != nil {
		stop, err := cannotAsk(err)
		return j, OnPull{}, stop, err
	}
	trusted, err := o.repo.Git.Resolve(BaseOf(j))
	if err != nil {
		return j, OnPull{}, nil, &Refusal{Code: event.CodeBase, Err: err}
	}
	line, err := o.repo.FirstParents(tips[1], maxBehindBase)
	if err != nil || !slices.Contains(line, trusted) {
		return fail("%s of %s is at %.10s, which is no commit of %s, the base of %s: check that out, so that manifest, instructions and skills are not those of the pull request", BaseOf(j), at, trusted, pr.Base, pr.URL)
	}
	if dir, head := p.elsewhere(to.Repo, line); dir != "" {
		return fail("the manifest is of %s, which is at %.10s, no commit of %s, the base of %s: use the manifest of the base, or of another repository", dir, head, pr.Base, pr.URL)
	}
	changed, err := o.repo.Touched(trusted, tips[0])
	if err != nil {
		return j, OnPull{}, nil, err
	}
	changes := headChanges{changed, o.below, func(name string) ([]string, error) { return o.repo.Through(trusted, name) }}
	file, by, err := changes.programs(p.plan.Programs())
	if err != nil {
		return j, OnPull{}, nil, err
	}
	if file != "" {
		return fail("%s has another %s than %s, and %s of the manifest runs it in the workspace: have a writer check and run it", pr.URL, textcut.OneLine(file), pr.Base, by)
	}
	if err := p.changedCommands(j, changes, pr); err != nil {
		return j, OnPull{}, nil, err
	}
	return j.OnBranch(pr.Head.Branch, tips[0]), OnPull{Branch: pr.Head.Branch, Trusted: trusted}, nil, nil
}

// elsewhere returns the work tree of a manifest, and the commit that is checked out there, if it is a clone of the pull request's
// repository at another commit than those of the base; "" for none.
func (p pullBranches) elsewhere(repo forge.Path, line []string) (dir, head string) {
	for _, name := range p.plan.Manifests {
		file, err := filepath.Abs(name)
		if err != nil {
			continue
		}
		clone, err := gitops.Open(filepath.Dir(file), p.origins.Git)
		if err != nil { // not in a repository
			continue
		}
		url, err := remote.PushURL(clone.Git, "origin")
		if err != nil {
			continue
		}
		_, at, err := p.forge(url)
		if err != nil || !strings.EqualFold(at.String(), repo.String()) {
			continue
		}
		if at, err := clone.Git.Head(); err == nil && !slices.Contains(line, at.Hash) {
			return clone.Root(), at.Hash
		}
	}
	return "", ""
}

// changedCommands warns of commands of a job that do what the pull request has changed: that verify passed then means less.
func (p pullBranches) changedCommands(j tasks.Job, changes headChanges, pr forge.PullRequest) error {
	commands := map[string]string{}
	for _, line := range j.Setup {
		commands["setup command "+line] = line
	}
	for _, v := range j.Verify {
		commands["verify command "+v.Name] = v.Run
	}
	for _, what := range slices.Sorted(maps.Keys(commands)) {
		file, err := changes.command(commands[what])
		if err != nil {
			return err
		}
		if file != "" {
			p.warn(fmt.Sprintf("job %s: %s runs %s as %s has changed it", j.ID, textcut.OneLine(what), textcut.OneLine(file), pr.URL))
		}
	}
	return nil
}

// maxBehindBase is how many commits behind its base a checkout may be.
const maxBehindBase = 1000

// tips returns the commits of two branches of a job's remote, which are in its repository then, and where that is.
func (p pullBranches) tips(ctx context.Context, j tasks.Job, o *origin, names ...string) (tips []string, at string, err error) {
	if j.Repo.Kind == tasks.RepoURL {
		for _, name := range names {
			tip := fetchedTip(o.repo, name)
			if tip == "" {
				return nil, "", refuse(event.CodeRemote, "%s: branch %s not found in %s", onPullKey, name, j.Repo.Name)
			}
			tips = append(tips, tip)
		}
		return tips, j.Repo.Name, nil
	}
	from, _, err := o.remote(ctx)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
	defer cancel()
	for _, name := range names {
		tip, err := remote.Fetch(ctx, o.repo.Git, from, name)
		if err != nil {
			return nil, "", err
		}
		tips = append(tips, tip)
	}
	return tips, o.repo.Root(), nil
}
