// Package submission queues the jobs of a plan for workers, with the event run.started ([runner.Describe]) and the
// files that they need to load the same plan. It checks policies and models (package checks) and repositories
// (package repos) before, but neither keys nor the sandbox: these are the workers'. It runs no job.
package submission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/ci"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

// Options are what a run is submitted with.
type Options struct {
	Server     queue.Options
	Plan       load.Options
	Deliveries int
	Lease      time.Duration
	NoBaseline bool
	Quiet      bool
}

// Submit queues the jobs of manifests, and prints the id of their run.
func Submit(ctx context.Context, w world.World, o Options) error {
	ctx, cancel := load.Timed(ctx, o.Plan.MaxTime)
	defer cancel()
	id := load.NewRunID(w)
	o.Plan.Run = id
	plan, err := load.Listed(ctx, w, o.Plan, o.Quiet)
	if err != nil {
		return err
	}
	if err := plan.Unqueueable(); err != nil {
		return queueRefused(err)
	}
	set, err := checks.Elsewhere(ctx, w, plan, checks.Here{Models: true}) // keys and the sandbox are those of workers
	if err != nil {
		return err
	}
	q, err := queued.Connect(ctx, w, o.Server)
	if err != nil {
		return err
	}
	defer q.Close()
	if err := submitPreflight(ctx, w, plan, id, o.Quiet); err != nil {
		return err
	}
	r, contents, err := queueRun(w, o, plan, set, id)
	if err != nil {
		return fault.New(event.ExitUsage, "%w; nothing was queued", err)
	}
	done, err := q.Submit(ctx, r, func(path string) ([]byte, error) { return contents[path], nil })
	if err != nil {
		return fault.New(event.ExitUnavailable, "%w", err)
	}
	printSubmitted(w, o, r, done)
	return nil
}

// queueRefused is the error of a plan that can't be queued.
func queueRefused(err error) error {
	var problems problem.List
	if errors.As(err, &problems) {
		return fault.Wrap(event.ExitUsage, fault.Refused{Problems: problems, Text: figures.Count(len(problems), "problem") + ": nothing was queued"})
	}
	return fault.New(event.ExitUsage, "%w; nothing was queued", err)
}

// submitPreflight checks the repositories.
func submitPreflight(ctx context.Context, w world.World, plan *tasks.Plan, id string, quiet bool) error {
	known := w.Redactor(plan)
	pulls := forges.Clients(w, forges.Hosts(w, plan, known.Hold), func(text string) { fmt.Fprintln(w.Err, printable.Text(known.Text(text))) })
	_, ready, err := repos.Check(ctx, w, plan, repos.Run{ID: id}, quiet, known, pulls)
	if err != nil {
		return err
	}
	ready.Close() // a worker has the branch when it pushes with a lease
	return nil
}

// queueRun returns the run of a plan for the queue, and the contents of its inputs.
func queueRun(w world.World, o Options, plan *tasks.Plan, set *models.Set, id string) (*queue.Run, map[string][]byte, error) {
	dir := o.Plan.In(w)
	inputs, err := plan.ReadInputs()
	if err != nil {
		return nil, nil, err
	}
	options, err := json.Marshal(queued.Options{Overrides: o.Plan.Overrides, MaxProfile: o.Plan.MaxProfile, Untrusted: o.Plan.Untrusted, NoBaseline: o.NoBaseline})
	if err != nil {
		return nil, nil, err
	}
	r := &queue.Run{
		ID: id, Submitted: w.Now().UTC(), CostUSD: plan.Budget.CostUSD, MaxDeliveries: o.Deliveries, Lease: o.Lease,
		Manifests: o.Plan.Manifests, Dir: dir, Event: plan.Event(), Options: options,
		Start: *runner.Describe(plan, runner.Options{Options: site.Options{RunID: id}, About: runner.About{Version: w.Version, Prices: set.PriceTable(), StartedBy: ci.StartedBy(w.Getenv)}}),
	}
	if limit := plan.Budget.Time; limit > 0 {
		r.Deadline = r.Submitted.Add(limit)
	}
	contents := map[string][]byte{}
	add := func(path string, data []byte) {
		if _, known := contents[path]; !known {
			contents[path] = data
			r.Files = append(r.Files, queue.File{Path: path, Mode: 0o644, SHA256: queue.HashOf(data)})
		}
	}
	for _, in := range inputs {
		if in.Mode.IsDir() {
			r.Files = append(r.Files, queue.File{Path: in.Path, Mode: in.Mode})
			continue
		}
		add(in.Path, in.Data)
		r.Files[len(r.Files)-1].Mode = in.Mode
	}
	if list := plan.StandardInput(); list != nil {
		add(queued.Resolve(dir, queued.StandardInput), list)
	}
	for _, path := range policyFiles(plan.Policies) {
		if !isRegular(path) {
			return nil, nil, fmt.Errorf("the policy %s is not a regular file, and workers read it again: write it to a file", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read the policy: %w", err)
		}
		add(path, data)
		r.Policies = append(r.Policies, path)
	}
	if path := queued.Resolve(dir, o.Plan.MaxProfile); isRegular(path) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read the maximum profile: %w", err)
		}
		add(path, data)
	}
	r.Jobs = queuedJobs(w, plan, set)
	return r, contents, nil
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// policyFiles lists the files of policies, absolute.
func policyFiles(policies policy.Set) []string {
	var files []string
	for _, p := range policies {
		if path, err := filepath.Abs(p.Path); err == nil && p.Path != "" {
			files = append(files, path)
		}
	}
	return files
}

// queuedJobs returns the jobs of a plan for the queue.
func queuedJobs(w world.World, plan *tasks.Plan, set *models.Set) []queue.Job {
	hosts := forges.Hosts(w, plan, func(string) {})
	keys, seen := map[string]string{}, map[string]int{}
	for _, j := range plan.Jobs {
		keys[j.ID] = j.Hash
		if n := seen[j.Hash]; n > 0 { // two tasks that do the same
			keys[j.ID] = fmt.Sprintf("%s-%d", j.Hash, n+1)
		}
		seen[j.Hash]++
	}
	var all []queue.Job
	for _, j := range plan.Jobs {
		queued := queue.Job{ID: j.ID, Key: keys[j.ID]}
		for _, id := range j.Needs {
			queued.Needs = append(queued.Needs, keys[id])
		}
		requires := slices.Concat(plan.Requires(j), set.Requires(j), hosts.Requires(j))
		slices.SortFunc(requires, slices.Compare)
		queued.Requires = slices.CompactFunc(requires, slices.Equal)
		all = append(all, queued)
	}
	return all
}

// printSubmitted prints what was queued, and on the last line the id of the run.
func printSubmitted(w world.World, o Options, r *queue.Run, done *queue.Submitted) {
	present := 0
	for _, run := range slices.Sorted(maps.Keys(done.Present)) {
		present += done.Present[run]
		if !o.Quiet {
			fmt.Fprintf(w.Out, "%s already in the queue, by run %s\n", figures.Count(done.Present[run], "job"), printable.Line(run, printable.Width))
		}
	}
	id := r.ID
	if present == len(r.Jobs) {
		id = slices.Sorted(maps.Keys(done.Present))[0]
	}
	if !o.Quiet {
		fmt.Fprintf(w.Out, "%s queued", figures.Count(done.Queued, "job"))
		if done.Waiting > 0 {
			fmt.Fprintf(w.Out, ", %d wait for others", done.Waiting)
		}
		fmt.Fprintln(w.Out)
	}
	fmt.Fprintln(w.Out, printable.Line(id, printable.Width))
}
