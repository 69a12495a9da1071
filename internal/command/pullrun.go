package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
)

// publishedRun is a saved run with what its pull requests are accessed with.
type publishedRun struct {
	world    World
	id, dir  string       // of the run
	jobs     []report.Job // the selected ones
	clients  *forges.Clients
	auth     func(url string) remote.Auth
	policies policy.Set
	known    *redact.Redactor
	order    order
	inverses *inverses // nil until a merged pull request is to be reverted
}

// openPublished opens a saved run. Its credentials are those of its manifests, as for
// --resume, or of the environment if they can't be read any more. The policies must allow pull requests for
// every verb but show.
func openPublished(ctx context.Context, w World, o publishedOptions, does order) (*publishedRun, error) {
	saved, err := savedrun.Load(o.run)
	if err != nil {
		return nil, err
	}
	r := &publishedRun{world: w, id: saved.Report.Run.ID, dir: saved.Dir, order: does}
	if r.jobs, err = selectJobs(saved.Report.Jobs, o.jobs); err != nil {
		return nil, err
	}
	plan, err := accessOf(ctx, w, saved.Dir, o.policyOptions)
	if err != nil {
		return nil, err
	}
	r.policies, r.known = plan.Policies, w.Redactor(plan)
	if by, refused := plan.Policies.Refuses(policy.Publish, string(tasks.PublishPR)); refused && does.verb != show {
		return nil, fault.New(event.ExitUsage, "pull requests are not allowed by %s; nothing was changed", by.By())
	}
	hosts := forges.Hosts(w, plan, r.known.Hold)
	var remotes []string
	for _, j := range r.jobs {
		if j.PullRequest != nil && j.Published != nil {
			remotes = append(remotes, j.Published.Remote)
		}
	}
	if r.auth, err = hosts.ForRemotes(remotes); err != nil {
		return nil, fault.New(event.ExitAuth, "%s", r.known.Text(err.Error()))
	}
	r.clients = &forges.Clients{World: w, Hosts: hosts, Notify: func(text string) { fmt.Fprintln(w.Err, printable.Text(r.known.Text(text))) }}
	return r, nil
}

// selectJobs returns the jobs with ids, for none all.
func selectJobs(jobs []report.Job, ids []string) ([]report.Job, error) {
	if len(ids) == 0 {
		return jobs, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(jobs, func(j report.Job) bool { return j.ID == id }) {
			return nil, fault.New(event.ExitUsage, "job %q not found in the run: name one of its jobs (millhand report show RUN)", id)
		}
	}
	return slices.DeleteFunc(slices.Clone(jobs), func(j report.Job) bool { return !slices.Contains(ids, j.ID) }), nil
}

// pullReaders is the number of pull requests that are read concurrently.
const pullReaders = 4

// managePulls opens a run and does with its pull requests what is ordered.
func managePulls(ctx context.Context, w World, o publishedOptions, does order) error {
	r, err := openPublished(ctx, w, o, does)
	if err != nil {
		return err
	}
	defer r.close()
	return r.print(ctx, o.json, r.do(ctx))
}

func (r *publishedRun) close() {
	if r.inverses != nil {
		r.inverses.out.Close()
	}
}

// do takes the pull request of each job to its end, and returns their rows: only the first ones if the context ends.
func (r *publishedRun) do(ctx context.Context) []pullRow {
	if r.order.verb == show {
		return r.read(ctx)
	}
	rows := []pullRow{}
	for _, j := range r.jobs {
		rows = append(rows, r.take(ctx, j))
		if ctx.Err() != nil {
			break
		}
	}
	return rows
}

// read returns the rows of all jobs, which are read concurrently.
func (r *publishedRun) read(ctx context.Context) []pullRow {
	rows := make([]pullRow, len(r.jobs))
	var all sync.WaitGroup
	next := make(chan int)
	for range pullReaders {
		all.Go(func() {
			for i := range next {
				rows[i] = r.take(ctx, r.jobs[i])
				rows[i].Result = ""
			}
		})
	}
	for i := range r.jobs {
		next <- i
	}
	close(next)
	all.Wait()
	return rows
}

// take takes the pull request of a job to the end of the order.
func (r *publishedRun) take(ctx context.Context, j report.Job) pullRow {
	row, pr, client, at := r.begin(ctx, j)
	if client == nil {
		return row
	}
	s := r.order.next(pr, j)
	for range mergeableTries {
		if s.do != askAgain {
			break
		}
		if err := r.world.Sleep.For(ctx, mergeableWait); err != nil {
			return r.failed(row, err)
		}
		if row, pr, client, at = r.begin(ctx, j); client == nil {
			return row
		}
		s = r.order.next(pr, j)
	}
	row.Result, row.Reason, row.exit = s.result, s.reason, s.exit
	switch s.do {
	case doMerge:
		return r.merge(ctx, row, j, client, at)
	case doShut:
		if err := r.shut(ctx, client, at, pr, r.order.comment); err != nil {
			return r.failed(row, err)
		}
		row.PullRequest.State, s.last = forge.Closed, true
	case doInvert:
		var done bool
		if row, done = r.invert(ctx, row, j, pr, client, at); !done {
			return row
		}
		s.last = true
	case stay, askAgain:
	}
	if s.last && r.order.deletes() {
		return r.deleteBranch(ctx, row, j)
	}
	return row
}

// merge merges a pull request that is ready.
func (r *publishedRun) merge(ctx context.Context, row pullRow, j report.Job, client *forge.Client, at forge.Path) pullRow {
	err := client.Merge(ctx, at, row.PullRequest.Number, j.Published.Hash, r.order.method)
	switch {
	case errors.Is(err, forge.ErrConflict): // a rule of the repository, or a commit since then
		row.Result, row.Reason, row.exit = "not ready", r.known.Text(err.Error()), event.ExitFailed
	case err != nil:
		return r.failed(row, err)
	default:
		row.PullRequest.State = forge.Merged
	}
	return row
}

// shut comments on a pull request and closes it. Repeated, it comments only once.
func (r *publishedRun) shut(ctx context.Context, client *forge.Client, at forge.Path, pr forge.PullRequest, comment string) error {
	if comment != "" {
		if _, err := client.Comment(ctx, at, forge.Thread{Number: pr.Number}, "close-"+r.id, comment); err != nil {
			return err
		}
	}
	return client.Close(ctx, at, pr.Number)
}

// deleteBranch deletes the branch of a closed pull request, if it is at the run's commit.
func (r *publishedRun) deleteBranch(ctx context.Context, row pullRow, j report.Job) pullRow {
	at := remote.Repo{URL: j.Published.Remote, Auth: r.auth(j.Published.Remote), Proxy: r.world.Proxy}
	err := remote.Delete(ctx, r.world.GitEnv(), at, j.Published.Branch, j.Published.Hash)
	switch {
	case errors.Is(err, remote.ErrLease):
		row.Reason, row.exit = fmt.Sprintf("branch %s was not deleted: it has commits that are not the run's", j.Published.Branch), event.ExitFailed
	case err != nil:
		row.Reason, row.exit = r.known.Text(fmt.Sprintf("branch %s was not deleted: %v", j.Published.Branch, err)), event.ExitPublish
	}
	return row
}

// open returns the client of the forge with a job's pull request, and the repository there.
func (r *publishedRun) open(j report.Job) (*forge.Client, forge.Path, error) {
	server, path, err := forges.Server(j.Published.Remote)
	if err != nil {
		return nil, path, err
	}
	host := server.Host
	if server.Port() == "" {
		host = server.Hostname() + ":" + reach.DefaultPort(server.Scheme)
	}
	if by, refused := r.policies.Refuses(policy.Hosts, host); refused {
		return nil, path, fmt.Errorf("the host %s is not allowed by %s", server.Host, by.By())
	}
	client, path, err := r.clients.Open(j.Published.Remote)
	return client, forges.PullPath(j.PullRequest.URL, server, path), err
}

// withoutPull returns why a job has no pull request.
func withoutPull(j report.Job) string {
	switch {
	case j.Outcome != event.Passed:
		return strings.TrimSuffix(string(j.Outcome)+": "+j.Reason, ": ")
	case j.Published != nil:
		return "its branch was pushed without a pull request"
	case j.Commit != nil:
		return "its commit was not pushed"
	case j.Reason != "":
		return j.Reason
	}
	return "it committed no changes"
}

// failed returns the row of a job whose pull request could not be read or changed.
func (r *publishedRun) failed(row pullRow, err error) pullRow {
	row.Result, row.Reason, row.exit = "failed", r.known.Text(err.Error()), event.ExitPublish
	return row
}

// begin returns the row of a job and its pull request; the row is complete if the client is
// nil.
func (r *publishedRun) begin(ctx context.Context, j report.Job) (row pullRow, pr forge.PullRequest, client *forge.Client, at forge.Path) {
	row = pullRow{Job: j.ID, Repo: j.Repo}
	if j.PullRequest == nil || j.Published == nil {
		row.Result, row.Reason = "none", withoutPull(j)
		return row, pr, nil, at
	}
	client, at, err := r.open(j)
	if err == nil {
		pr, err = client.Get(ctx, at, j.PullRequest.Number)
	}
	if err != nil {
		return r.failed(row, err), pr, nil, at
	}
	row.PullRequest = newPullState(pr, j.Published.Hash)
	return row, pr, client, at
}
