package pulls

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/savedjob"
	"github.com/millhand/millhand/tasks"
)

// PublishOptions select jobs of a saved run to publish.
type PublishOptions struct {
	Run    string
	Jobs   []string // ids; all for none
	Mode   string   // "" for that of each job
	DryRun bool
}

// PublishRow is the result of publishing a job.
type PublishRow struct {
	Job         string             `json:"job"`
	Repo        string             `json:"repo"`
	Mode        tasks.PublishMode  `json:"mode"`
	Remote      string             `json:"remote"`
	Branch      string             `json:"branch"`
	Result      Result             `json:"result"`
	Reason      string             `json:"reason"`
	Commit      string             `json:"commit"` // that was pushed; empty for none
	PullRequest *event.PullRequest `json:"pull_request"`

	Comment  *event.Comment       `json:"comment,omitempty"`  // that was posted
	Requests []event.ForgeRequest `json:"requests,omitempty"` // of the agent, that were decided

	pushes bool          // its commit is published
	left   savedjob.Left // beside the commit
	exit   event.Exit
}

// Publishing is a process that publishes a saved run.
type Publishing struct {
	world    world.World
	options  PublishOptions
	saved    *savedrun.Run
	state    events
	jobs     []report.Job
	known    *redact.Redactor
	rows     []PublishRow
	later    savedjob.Run
	policies policy.Set
	failOn   event.FailOn
	out      *rundir.Dir
	pending  []int // indexes of jobs
}

// Begin opens a saved run that has ended, and finds what is to be published: see [Publishing.Pending].
func Begin(ctx context.Context, w world.World, o PublishOptions) (*Publishing, error) {
	p := &Publishing{world: w, options: o}
	var err error
	if p.saved, err = savedrun.Load(o.Run); err != nil {
		return nil, err
	}
	if p.jobs, err = Select(p.saved.Report.Jobs, o.Jobs); err != nil {
		return nil, err
	}
	if p.out, err = rundir.Reopen(ctx, p.saved.Dir, w.Clock()); err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	if _, err = p.out.Events(p.state.Emit); err != nil {
		err = fault.Wrap(event.ExitUsage, err)
	} else if p.state.run == nil || p.state.end == nil {
		err = fault.New(event.ExitUsage, "the run has not ended: continue it with millhand run --resume %s; nothing was published", o.Run)
	}
	if err != nil {
		p.out.Close()
		return nil, err
	}
	p.pending = p.plan()
	return p, nil
}

// Close closes the report directory.
func (p *Publishing) Close() { p.out.Close() }

// Pending reports whether there is a job to publish.
func (p *Publishing) Pending() bool { return len(p.pending) > 0 }

// Saved returns the directory of the run, and how it was started.
func (p *Publishing) Saved() (dir string, run *event.Run) { return p.saved.Dir, p.state.run }

// Publish publishes the pending jobs; with [PublishOptions.DryRun] it only checks whether that is allowed. access
// has the policies and the git hosts of the run's manifests, failOn decides its exit code.
func (p *Publishing) Publish(ctx context.Context, access *tasks.Plan, failOn event.FailOn) error {
	p.failOn = failOn
	if err := p.open(access); err != nil || p.options.DryRun {
		return err
	}
	return p.publish(ctx, p.out, p.pending)
}

// plan makes the rows, and returns the indexes of the jobs to publish.
func (p *Publishing) plan() (pending []int) {
	for i, j := range p.jobs {
		row := PublishRow{Job: j.ID, Repo: j.Repo, PullRequest: j.PullRequest}
		saved := p.state.jobs[j.ID]
		if saved == nil {
			saved = &savedjob.Job{Publishable: history.Publishable{End: &event.JobEnd{Outcome: j.Outcome, Reason: j.Reason}}}
		}
		row.Mode, row.Remote, row.Branch = tasks.PublishMode(cmp.Or(p.options.Mode, string(saved.Mode()))), saved.Remote(), saved.Branch()
		if j.Published != nil {
			row.Commit = j.Published.Hash
		}
		reason, done := saved.Done(row.Mode)
		row.left, row.pushes = saved.Left(), reason == ""
		switch {
		case reason != "" && row.left.Any() && saved.Settled():
			row.Result, row.Mode, row.Branch, row.Reason = ResultPending, "", "", row.left.String()
			pending = append(pending, i)
		case done:
			row.Result, row.Reason = ResultUnchanged, reason
		case reason != "":
			row.Result, row.Reason = ResultSkipped, reason
		default:
			row.Result, row.Reason = ResultPending, row.left.String()
			pending = append(pending, i)
		}
		p.rows = append(p.rows, row)
	}
	return pending
}

// open checks the policies, and finds the credentials for the remotes.
func (p *Publishing) open(plan *tasks.Plan) error {
	var remotes []string
	servers := slices.Clone(plan.Forges)
	for _, i := range p.pending {
		row := p.rows[i]
		for _, act := range []struct {
			what string
			done bool
		}{{string(row.Mode), row.pushes}, {policy.Comment, row.left.Comment != nil}, {policy.RequestsKey, len(row.left.Requests) > 0}} {
			if by, refused := plan.Policies.Refuses(policy.Publish, act.what); refused && act.done {
				return fault.New(event.ExitUsage, "publish: %s of job %s is not allowed by %s; nothing was published", act.what, row.Job, by.By())
			}
		}
		if at, err := remote.ParseAddress(row.Remote); err == nil && at.Scheme != "file" {
			host := at.Host
			if server, _, err := apis.Server(row.Remote); err == nil && server.Port() == "" {
				host = server.Hostname() + ":" + reach.DefaultPort(server.Scheme)
			}
			if by, refused := plan.Policies.Refuses(policy.Hosts, host); refused {
				return fault.New(event.ExitUsage, "the host %s of job %s is not allowed by %s; nothing was published", at.Host, row.Job, by.By())
			}
		}
		remotes = append(remotes, row.Remote)
		servers = withKind(servers, row.Remote, p.state.jobs[row.Job].Forge())
	}
	plan = plan.WithForges(servers)
	p.known = p.world.Redactor(plan)
	hosts := forges.Hosts(p.world, plan, p.known.Hold)
	auth, err := hosts.ForRemotes(remotes)
	if err != nil {
		return fault.New(event.ExitAuth, "%s", p.known.Text(err.Error()))
	}
	clients := forges.Clients(p.world, hosts, p.note)
	p.policies = plan.Policies
	p.later = savedjob.Run{
		Git: p.world.GitEnv(), Reports: p.saved.Dir, Mirrors: p.world.Mirrors(), Auth: auth, Proxy: p.world.Proxy, Forge: clients.Open,
		Redact: p.known, Protected: plan.Policies.Protected(),
	}
	return nil
}

// withKind adds the kind of the forge of a remote to a list that lacks it.
func withKind(list []tasks.Forge, address, kind string) []tasks.Forge {
	server, _, err := apis.Server(address)
	if err != nil || kind == "" || slices.ContainsFunc(list, func(f tasks.Forge) bool { return strings.EqualFold(f.Host, server.Host) }) {
		return list
	}
	return append(list, tasks.Forge{Host: server.Host, Kind: tasks.ForgeKind(kind)})
}

func (p *Publishing) note(text string) {
	fmt.Fprintln(p.world.Err, printable.Text(p.known.Text(text)))
}

// publish publishes jobs, and completes the events and reports of the run.
func (p *Publishing) publish(ctx context.Context, out *rundir.Dir, pending []int) error {
	if err := savedrun.ProveAgain(ctx, p.world, out, p.state.run); err != nil {
		return err
	}
	if err := out.Begin(p.state.run.ID, sandbox.None, nil, len(pending)); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	began := p.world.Now()
	log, fold := out.Log(), &report.Fold{}
	if _, err := out.Events(fold.Emit); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	var mu sync.Mutex // the rows are of several goroutines
	stream := event.NewStream(p.world.Now, log, fold)
	stream.Continue(p.state.seq)
	emit := event.Redacted(p.known.JSON, func(e event.Event) {
		stream.Emit(e)
		mu.Lock()
		defer mu.Unlock()
		p.state.Emit(e) //nolint:errcheck // always nil
		p.follow(e)
	})
	started := *p.state.run
	started.Resumed = &event.Resumed{Finished: len(started.Jobs) - len(pending)}
	if cost := p.saved.Report.Run.Totals.CostUSD; cost != nil {
		started.Resumed.CostUSD = *cost
	}
	elapsed := p.state.end.ElapsedMS
	emit(event.Event{Type: event.RunStarted, Run: &started})
	p.later.Work, p.later.Emit, p.later.Head = out.Work(), emit, log.Head
	var all sync.WaitGroup
	next := make(chan int)
	for range publish.MaxParallel {
		all.Go(func() {
			for i := range next {
				mu.Lock()
				job := *p.state.jobs[p.jobs[i].ID]
				mu.Unlock()
				result := p.one(ctx, p.rows[i], p.jobs[i], &job)
				mu.Lock()
				p.rows[i] = result
				mu.Unlock()
			}
		})
	}
	for _, i := range pending {
		next <- i
	}
	close(next)
	all.Wait()
	Annotate(ctx, p.world, p.later.Forge, fold.Report(), out.Files().FS(), p.withPatterns(), p.known, p.note)
	ends, own := p.ends(), p.exits(ctx)
	emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{
		Outcome: event.Worst(append(event.ExitsOf(ends), own...)).OutcomeOf(), ExitCode: p.failOn.Exit(ends, own...), ElapsedMS: elapsed + p.world.Now().Sub(began).Milliseconds(),
	}})
	if err := out.Finish(ctx, emit, log, fold, func() error { return errors.Join(log.Err(), stream.Err()) }); err != nil {
		return fault.Wrap(event.ExitInternal, err)
	}
	return nil
}

// follow prints an event for people.
func (p *Publishing) follow(e event.Event) {
	switch {
	case e.Warning != nil:
		p.note(e.Job + ": warning: " + e.Warning.Message)
	case e.Type == event.CommitPublished && e.Published.PullRequest != nil:
		p.note(fmt.Sprintf("%s: pull request %s", e.Job, e.Published.PullRequest.URL))
	case e.Type == event.CommentPosted:
		p.note(fmt.Sprintf("%s: commented: %s", e.Job, e.Comment.URL))
	case e.Type == event.ForgeRequestEnded:
		p.note(strings.TrimRight(fmt.Sprintf("%s: request %s: %s %s%s", e.Job, e.ForgeRequest.What(), e.ForgeRequest.Outcome, e.ForgeRequest.Reason, e.ForgeRequest.URL), " "))
	case e.Type == event.CommitPublished:
		p.note(fmt.Sprintf("%s: pushed %.10s to %s on %s", e.Job, e.Published.Hash, e.Published.Branch, e.Published.Remote))
	}
}

// ends returns the ends of all jobs of the run.
func (p *Publishing) ends() (ends []event.JobEnd) {
	for _, j := range p.state.run.Jobs {
		if saved := p.state.jobs[j.ID]; saved != nil && saved.End != nil {
			ends = append(ends, *saved.End)
		}
	}
	return ends
}

// one publishes one job. It reports the end of a job that did not pass only because it was
// not published.
func (p *Publishing) one(ctx context.Context, row PublishRow, j report.Job, saved *savedjob.Job) PublishRow {
	if ctx.Err() != nil {
		row.Result, row.Reason = ResultSkipped, context.Cause(ctx).Error()
		return row
	}
	later := p.later
	later.Emit = func(e event.Event) {
		switch {
		case e.Type == event.CommitPublished:
			row.Commit, row.PullRequest = e.Published.Hash, e.Published.PullRequest
		case e.Type == event.CommentPosted:
			row.Comment = e.Comment
		case e.Type == event.ForgeRequestEnded:
			row.Requests = append(row.Requests, *e.ForgeRequest)
		}
		p.later.Emit(e)
	}
	var err error
	if row.pushes {
		err = later.Publish(ctx, row.Job, saved, row.Mode, p.facts(j))
	}
	if err == nil && row.left.Any() {
		rest := savedjob.Rest{Left: row.left, Facts: p.facts(j), Findings: p.findings(row.Job), Policies: p.policies}
		if row.PullRequest != nil {
			rest.Pull = *row.PullRequest
		}
		if len(j.Output) > 0 && !bytes.Equal(j.Output, []byte("null")) {
			rest.Output = p.known.JSON(j.Output)
		}
		err = later.PublishRest(ctx, row.Job, saved, rest)
	}
	if err != nil {
		row.Result, row.Reason, row.exit = ResultFailed, p.known.Text(err.Error()), event.ExitPublish
		var f *publish.Failure
		if errors.As(err, &f) && f.Code.Cause().Exit == event.ExitPolicy {
			row.exit = event.ExitPolicy
		}
		p.later.Emit(event.Event{Type: event.WarningIssued, Job: row.Job, Warning: &event.Warning{Message: "publish: " + row.Reason}})
		return row
	}
	row.Result, row.Reason = ResultPublished, ""
	if saved.End.Outcome != event.Passed {
		end := *saved.End
		end.Outcome, end.Reason, end.Code, end.Cause, end.ExitCode = event.Passed, "", "", "", event.ExitOK
		p.later.Emit(event.Event{Type: event.JobEnded, Job: row.Job, JobEnd: &end})
	}
	return row
}

// findings reports whether the output of a job has the schema of findings.
func (p *Publishing) findings(job string) bool {
	return slices.ContainsFunc(p.state.run.Jobs, func(j event.PlannedJob) bool { return j.ID == job && j.Findings })
}

// facts returns the contents of the texts of a job's pull request.
func (p *Publishing) facts(j report.Job) publish.Facts {
	f := publish.Facts{Run: p.state.run.ID, Name: p.known.Text(p.state.run.Name), Task: j.Task, Session: &publish.Session{
		Summary: p.known.Text(j.FinalMessage), Model: j.Model, Profile: j.Profile, Turns: j.Turns, Denied: len(j.Denied), CostUSD: j.CostUSD,
	}}
	for _, row := range j.Escalation {
		f.Session.Models = append(f.Session.Models, event.ModelCost{Model: row.Model, CostUSD: row.CostUSD})
	}
	if by := p.state.run.StartedBy; by != nil {
		f.RunURL = p.known.Text(by.RunURL)
	}
	if r := j.Review; r != nil && r.Verdict != "" {
		f.Reviewed = &event.Review{Model: r.Model, Verdict: r.Verdict, Reason: r.Reason, Objections: r.Objections}
	}
	if j.Hunks != nil {
		f.Hunks = j.Hunks.Line()
	}
	last := 0
	for _, v := range j.Verify {
		last = max(last, v.Attempt)
	}
	for _, v := range j.Verify {
		if v.Attempt != last {
			continue
		}
		before := "not run"
		if i := slices.IndexFunc(j.Baseline, func(b report.Baseline) bool { return b.Name == v.Name }); i >= 0 {
			b := event.Baseline{Passed: j.Baseline[i].Passed, ExitCode: j.Baseline[i].ExitCode, TimeoutMS: j.Baseline[i].TimeoutMS}
			before = b.Result()
		}
		f.Verify = append(f.Verify, publish.Verify{Name: p.known.Text(v.Name), Before: before})
	}
	return f
}

// Published is the result of publishing, as JSON.
type Published struct {
	Run  string       `json:"run"`
	Jobs []PublishRow `json:"jobs"`
}

// Result returns the result, and the exit code.
func (p *Publishing) Result(ctx context.Context) (Published, event.Exit) {
	return Published{p.state.run.ID, p.rows}, event.Worst(p.exits(ctx))
}

// exits returns the exit codes of this process. A job that passed keeps its outcome, whatever becomes of its publication.
func (p *Publishing) exits(ctx context.Context) (all []event.Exit) {
	for _, row := range p.rows {
		all = append(all, row.exit)
	}
	var interrupt event.Interrupt
	if errors.As(context.Cause(ctx), &interrupt) {
		all = append(all, interrupt.Exit)
	}
	return all
}

// Print prints the result for people.
func (p *Publishing) Print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tMODE\tBRANCH\tRESULT\tURL")
	count := map[Result]int{}
	for _, row := range p.rows {
		url := "-"
		if row.PullRequest != nil {
			url = row.PullRequest.URL
		}
		cells := []string{row.Job, cmp.Or(string(row.Mode), "-"), cmp.Or(row.Branch, "-"), string(row.Result), url}
		for i, cell := range cells {
			cells[i] = printable.Line(cell, printable.Width)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
		count[row.Result]++
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range p.rows { // too long for the table
		if row.Reason != "" {
			fmt.Fprintf(out, "%s: %s\n", printable.Line(row.Job, printable.Width), printable.Line(row.Reason, 1000))
		}
	}
	var sums []string
	for _, result := range []Result{ResultPublished, ResultPending, ResultUnchanged, ResultSkipped, ResultFailed} {
		if n := count[result]; n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", n, result))
		}
	}
	_, err := fmt.Fprintf(out, "\n%s: %s\n", figures.Count(len(p.rows), "job"), strings.Join(sums, ", "))
	return err
}
