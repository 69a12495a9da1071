package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// publishedOptions select pull requests of a saved run.
type publishedOptions struct {
	policyOptions
	run  string
	jobs []string // ids; all for none
	json bool
}

func (o *publishedOptions) flags() []cli.Flag {
	return []cli.Flag{jsonFlag(&o.json, "Print one JSON document"), o.policyFlag("")}
}

func (o *publishedOptions) parse(args []string) error {
	if len(args) == 0 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	o.run, o.jobs = args[0], args[1:]
	return nil
}

// publishedRun is a saved run with what its pull requests are accessed with.
type publishedRun struct {
	world    World
	id, dir  string       // of the run
	jobs     []report.Job // the selected ones
	clients  *forges.Clients
	auth     func(url string) remote.Auth
	policies policy.Set
	known    *redact.Redactor
}

// openPublished opens a saved run. Its credentials are those of its manifests, as for
// --resume, or of the environment if they can't be read any more. With change, the policies
// must allow pull requests.
func openPublished(ctx context.Context, w World, o publishedOptions, change bool) (*publishedRun, error) {
	saved, err := savedrun.Load(o.run)
	if err != nil {
		return nil, err
	}
	r := &publishedRun{world: w, id: saved.Report.Run.ID, dir: saved.Dir}
	if r.jobs, err = selectJobs(saved.Report.Jobs, o.jobs); err != nil {
		return nil, err
	}
	plan, err := accessOf(ctx, w, saved.Dir, o.policyOptions)
	if err != nil {
		return nil, err
	}
	r.policies, r.known = plan.Policies, w.Redactor(plan)
	if by, refused := plan.Policies.Refuses(policy.Publish, string(tasks.PublishPR)); refused && change {
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

// accessOf returns a plan that has only the policies and the git hosts of a saved run: those
// of its manifests as they are now.
func accessOf(ctx context.Context, w World, dir string, po policyOptions) (*tasks.Plan, error) {
	past := &history.Past{}
	f, err := rundir.OpenEvents(dir)
	if err == nil {
		defer f.Close()
		_, err = event.Read(f, past.Emit)
	}
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	for i, file := range po.policies { // invoked changes the directory
		if po.policies[i], err = filepath.Abs(file); err != nil {
			return nil, fault.Wrap(event.ExitUsage, err)
		}
	}
	own, unreadable := invoked(past.Run)
	own.plan.policies = slices.Concat(own.plan.policies, po.policies)
	opts, err := surroundings(ctx, w, own.plan.policyOptions)
	if err != nil {
		return nil, err
	}
	plan := &tasks.Plan{Policies: opts.Policies}
	if unreadable == nil && slices.Contains(own.plan.manifests, "-") {
		unreadable = errors.New("one was standard input")
	}
	if unreadable == nil {
		plan.Forges, unreadable = tasks.LoadForges(ctx, own.plan.manifests, opts)
	}
	if unreadable != nil {
		fmt.Fprintln(w.Err, printable.Text(w.Redactor(nil).Text(fmt.Sprintf("millhand: warning: can't read the manifests of the run: %v; using only credentials of the environment", unreadable))))
	}
	return plan, nil
}

// invoked returns the options that a run was started with, and changes to the directory
// that it was started in.
func invoked(run *event.Run) (runOptions, error) {
	var plain runOptions
	if run == nil {
		return plain, errors.New("the run did not start")
	}
	if _, err := readFlags(plain.flags(), nil); err != nil {
		return plain, err
	}
	return resumed(plain, run)
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

// pullRow is the pull request of a job.
type pullRow struct {
	Job         string     `json:"job"`
	Repo        string     `json:"repo"`
	PullRequest *pullState `json:"pull_request"` // nil without one, and if the forge did not return it
	Result      string     `json:"result,omitempty"`
	Reason      string     `json:"reason"`

	exit event.Exit
}

// pullState is a pull request as its forge describes it now.
type pullState struct {
	Number    int64       `json:"number"`
	URL       string      `json:"url"`
	State     forge.State `json:"state"`
	Draft     bool        `json:"draft"`
	Checks    string      `json:"checks"`    // passed, failed, pending or none
	Mergeable string      `json:"mergeable"` // yes, no or unknown
	Conflicts bool        `json:"conflicts"`
	Base      string      `json:"base"`
	Branch    string      `json:"branch"`
	Commit    string      `json:"commit"` // of its head
	Pushed    string      `json:"pushed"` // commit that the run has pushed
}

func newPullState(pr forge.PullRequest, pushed string) *pullState {
	return &pullState{
		Number: pr.Number, URL: pr.URL, State: pr.State, Draft: pr.Draft, Checks: cmp.Or(string(pr.Checks), "none"),
		Mergeable: cmp.Or(string(pr.Mergeable), "unknown"), Conflicts: pr.Conflict, Base: pr.Base, Branch: pr.Head.Branch, Commit: pr.SHA, Pushed: pushed,
	}
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
