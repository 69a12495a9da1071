// Package pulls publishes the jobs of a saved run ([Begin]) and manages their pull requests ([Open]). Package manage
// calls both, and passes the policies and git hosts of the run's manifests; package savedjob pushes, and makes the inverse of
// a merged pull request. One table decides what a verb means for a pull request in a state. It starts no session and no run. It
// records nothing in the run but what it publishes: the state of pull requests is that of their forges. After a run, [Annotate] adds
// what the jobs of the run have in common to those of their pull requests that are open.
package pulls

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
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
)

// Run is a saved run with what its pull requests are accessed with.
type Run struct {
	World    world.World
	ID, Dir  string       // of the run
	Jobs     []report.Job // the selected ones
	clients  *apis.Clients
	auth     func(url string) remote.Auth
	policies policy.Set
	Known    *redact.Redactor
	order    Order
	inverses *inverses // nil until a merged pull request is to be reverted
}

// Open returns the access to the pull requests of jobs of a saved run. access has the policies and the git hosts of its
// manifests. The policies must allow pull requests for every verb but Show; a dry run
// warns that they don't.
func Open(w world.World, saved *savedrun.Run, jobs []report.Job, access *tasks.Plan, o Order) (*Run, error) {
	r := &Run{World: w, ID: saved.Report.Run.ID, Dir: saved.Dir, Jobs: jobs, order: o, policies: access.Policies, Known: w.Redactor(access)}
	by, refused := access.Policies.Refuses(policy.Publish, string(tasks.PublishPR))
	refused = refused && o.Verb != Show
	if refused && !o.DryRun {
		return nil, fault.New(event.ExitUsage, "pull requests are not allowed by %s; nothing was changed", by.By())
	}
	hosts := forges.Hosts(w, access, r.Known.Hold)
	var remotes []string
	for _, j := range r.Jobs {
		if j.PullRequest != nil && j.Published != nil {
			remotes = append(remotes, j.Published.Remote)
		}
	}
	var err error
	if r.auth, err = hosts.ForRemotes(remotes); err != nil {
		return nil, fault.New(event.ExitAuth, "%s", r.Known.Text(err.Error()))
	}
	r.clients = forges.Clients(w, hosts, func(text string) { fmt.Fprintln(w.Err, printable.Text(r.Known.Text(text))) })
	if refused {
		r.clients.Notify(fmt.Sprintf("warning: pull requests are not allowed by %s: without --dry-run nothing is changed", by.By()))
	}
	return r, nil
}

// Select returns the jobs with ids, for none all.
func Select(jobs []report.Job, ids []string) ([]report.Job, error) {
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

// readers is the number of pull requests that are read concurrently.
const readers = 4

// Close closes the report directory if it was opened.
func (r *Run) Close() {
	if r.inverses != nil {
		r.inverses.out.Close()
	}
}

// Do performs the order for the pull request of each job, and returns their rows: only the first ones if the context ends.
func (r *Run) Do(ctx context.Context) []Row {
	if r.order.Verb == Show {
		return r.read(ctx)
	}
	rows := []Row{}
	for _, j := range r.Jobs {
		rows = append(rows, r.process(ctx, j))
		if ctx.Err() != nil {
			break
		}
	}
	return rows
}

// read returns the rows of all jobs, which are read concurrently.
func (r *Run) read(ctx context.Context) []Row {
	rows := make([]Row, len(r.Jobs))
	var all sync.WaitGroup
	next := make(chan int)
	for range readers {
		all.Go(func() {
			for i := range next {
				rows[i] = r.process(ctx, r.Jobs[i])
				rows[i].Result = ""
			}
		})
	}
	for i := range r.Jobs {
		next <- i
	}
	close(next)
	all.Wait()
	return rows
}

// process performs the order for the pull request of a job.
func (r *Run) process(ctx context.Context, j report.Job) Row {
	row, pr, client, at := r.Read(ctx, j)
	if client == nil {
		return row
	}
	s := r.order.next(pr, j)
	for range mergeableTries {
		if s.do != askAgain {
			break
		}
		if err := r.World.Sleep.For(ctx, mergeableWait); err != nil {
			return r.failed(row, err)
		}
		if row, pr, client, at = r.Read(ctx, j); client == nil {
			return row
		}
		s = r.order.next(pr, j)
	}
	row.Result, row.Reason, row.exit = s.result, s.reason, s.exit
	switch s.do {
	case doMerge:
		return r.merge(ctx, row, j, client, at)
	case doShut:
		if err := r.shut(ctx, client, at, pr, r.order.Comment); err != nil {
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
func (r *Run) merge(ctx context.Context, row Row, j report.Job, client *forge.Client, at forge.Path) Row {
	err := client.Merge(ctx, at, row.PullRequest.Number, j.Published.Hash, r.order.Method)
	switch {
	case errors.Is(err, forge.ErrConflict): // a rule of the repository, or a commit since then
		row.Result, row.Reason, row.exit = ResultNotReady, r.Known.Text(err.Error()), event.ExitFailed
	case err != nil:
		return r.failed(row, err)
	default:
		row.PullRequest.State = forge.Merged
	}
	return row
}

// shut comments on a pull request and closes it. Repeated, it comments only once.
func (r *Run) shut(ctx context.Context, client *forge.Client, at forge.Path, pr forge.PullRequest, comment string) error {
	if comment != "" {
		if _, err := client.Comment(ctx, at, forge.Thread{Number: pr.Number}, "close-"+r.ID, comment); err != nil {
			return err
		}
	}
	return client.Close(ctx, at, pr.Number)
}

// deleteBranch deletes the branch of a closed pull request, if it is at the run's commit.
func (r *Run) deleteBranch(ctx context.Context, row Row, j report.Job) Row {
	at := remote.Repo{URL: j.Published.Remote, Auth: r.auth(j.Published.Remote), Proxy: r.World.Proxy}
	err := remote.Delete(ctx, r.World.GitEnv(), at, j.Published.Branch, j.Published.Hash)
	switch {
	case errors.Is(err, remote.ErrLease):
		row.Reason, row.exit = fmt.Sprintf("branch %s was not deleted: it has commits that are not the run's", j.Published.Branch), event.ExitFailed
	case err != nil:
		row.Reason, row.exit = r.Known.Text(fmt.Sprintf("branch %s was not deleted: %v", j.Published.Branch, err)), event.ExitPublish
	}
	return row
}

// open returns the client of the forge with a job's pull request, and the repository there.
func (r *Run) open(j report.Job) (*forge.Client, forge.Path, error) {
	server, path, err := apis.Server(j.Published.Remote)
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
	return client, apis.PullPath(j.PullRequest.URL, server, path), err
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
func (r *Run) failed(row Row, err error) Row {
	row.Result, row.Reason, row.exit = ResultFailed, r.Known.Text(err.Error()), event.ExitPublish
	return row
}

// Read returns the row of a job and its pull request; the row is complete if the client is
// nil.
func (r *Run) Read(ctx context.Context, j report.Job) (row Row, pr forge.PullRequest, client *forge.Client, at forge.Path) {
	row = Row{Job: j.ID, Repo: j.Repo}
	if j.PullRequest == nil || j.Published == nil {
		row.Result, row.Reason = ResultNone, withoutPull(j)
		return row, pr, nil, at
	}
	client, at, err := r.open(j)
	if err == nil {
		pr, err = client.Get(ctx, at, j.PullRequest.Number)
	}
	if err != nil {
		return r.failed(row, err), pr, nil, at
	}
	row.PullRequest = newState(pr, j.Published.Hash)
	return row, pr, client, at
}
