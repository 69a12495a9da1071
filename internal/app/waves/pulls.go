package waves

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/waves/rollout"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// forgeReaders is the number of pull requests that are read concurrently.
const forgeReaders = 4

// pullRequests asks the forges for the pull requests of a plan's jobs.
func pullRequests(ctx context.Context, w world.World, plan *tasks.Plan) (map[string]rollout.Pull, error) {
	known := w.Redactor(plan)
	hosts := forges.Hosts(w, plan, known.Hold)
	clients := forges.Clients(w, hosts, func(text string) { fmt.Fprintln(w.Err, printable.Text(known.Text(text))) })
	remotes := map[string]string{}
	var urls []string
	for _, j := range plan.Jobs {
		if j.Pull == nil || j.Commit == nil {
			continue
		}
		url, err := remoteOf(w, j)
		if errors.Is(err, remote.ErrNoRemote) {
			continue // the preflight refuses the job
		}
		if err != nil {
			return nil, fault.New(event.ExitUsage, "find the pull requests of the rollout: %w; nothing was run", err)
		}
		remotes[j.ID], urls = url, append(urls, url)
	}
	if _, err := hosts.ForRemotes(urls); err != nil {
		return nil, fault.New(event.ExitUsage, "%s; nothing was run", known.Text(err.Error()))
	}
	found := map[string]rollout.Pull{}
	var mu sync.Mutex
	var failed error
	ask := func(j tasks.Job) {
		p, err := pullOf(ctx, clients, plan, j, remotes[j.ID])
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = forges.Failure(ctx, fmt.Errorf("%s", known.Text(fmt.Sprintf("find the pull request of job %s: %v", j.ID, err))), err)
		}
		if p != nil {
			found[j.ID] = *p
		}
	}
	stop := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed != nil
	}
	var all sync.WaitGroup
	next := make(chan tasks.Job)
	for range forgeReaders {
		all.Go(func() {
			for j := range next {
				ask(j)
			}
		})
	}
	for _, j := range plan.Jobs {
		if remotes[j.ID] != "" && !stop() {
			next <- j
		}
	}
	close(next)
	all.Wait()
	return found, failed
}

// remoteOf returns the URL of the remote of a job: that of a url repository, or "origin".
func remoteOf(w world.World, j tasks.Job) (string, error) {
	switch j.Repo.Kind {
	case tasks.RepoURL:
		return j.Repo.URL, nil
	case tasks.RepoPath:
		repo, err := gitops.Open(j.Repo.Dir, w.GitEnv())
		if err != nil {
			return "", fmt.Errorf("%s: %w", j.Repo.Name, err)
		}
		return remote.PushURL(repo.Git, "origin")
	case tasks.RepoCopy: // has no remote
	}
	return "", remote.ErrNoRemote
}

// pullOf returns the pull request of a job; nil if it has none that shows anything.
func pullOf(ctx context.Context, clients *apis.Clients, plan *tasks.Plan, j tasks.Job, address string) (*rollout.Pull, error) {
	client, at, err := clients.Open(address)
	if err != nil {
		return nil, err
	}
	head := forge.Head{Branch: j.Commit.Branch}
	if j.Pull.Fork != "" {
		_, fork, err := publish.Forked(ctx, client, at, j.Pull.Fork)
		if err != nil || fork.Missing {
			return nil, err
		}
		head.Repo = fork.Path
	}
	pr, err := client.Find(ctx, at, head)
	if err != nil {
		if errors.Is(err, forge.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	source := at
	if head.Repo != (forge.Path{}) {
		source = head.Repo
	}
	made, err := madeFor(ctx, client, source, plan, j, pr)
	if err != nil || made.WIP || made.Job && !made.Rollout || !made.Job && pr.State != forge.Open {
		return nil, err
	}
	spec := plan.Rollout
	p := &rollout.Pull{State: string(pr.State), Foreign: !made.Job, SameTask: made.Task}
	if pr.State == forge.Merged && !made.Task {
		inverse, err := pulls.InverseOf(ctx, client, at, j.Commit.Branch, pr.SHA)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return nil, err
		}
		if err == nil && inverse.State == forge.Merged {
			p.State = string(forge.Closed) // nothing of it is left
		}
	}
	if spec.Advance.Checks > 0 && pr.State == forge.Open {
		if pr, err = client.Get(ctx, at, pr.Number); err != nil {
			return nil, err
		}
		p.Checks = string(pr.Checks)
	}
	if spec.PerHour > 0 {
		if p.Created, err = client.Created(ctx, at, pr.Number); err != nil {
			return nil, err
		}
	}
	if spec.CIMinutes > 0 {
		if p.CI, err = client.CheckTime(ctx, at, pr.SHA); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxAbove is the number of commits of others above that of a job by which its pull request
// is recognized.
const maxAbove = 10

// madeFor returns what the commits of a pull request show about a job: the head, or the last one
// that was made for the job. They can be gone if it was merged or closed.
func madeFor(ctx context.Context, client *forge.Client, source forge.Path, plan *tasks.Plan, j tasks.Job, pr forge.PullRequest) (made landing.Made, err error) {
	sha := pr.SHA
	for range maxAbove {
		c, err := client.CommitOf(ctx, source, sha)
		if errors.Is(err, forge.ErrNotFound) {
			err = nil
		}
		if made = landing.MadeFor(plan, j, c.Message, c.Parent); err != nil || made.Job || c.Parent == "" {
			return made, err
		}
		sha = c.Parent
	}
	return made, nil
}
