// Package repos checks the repositories of a plan before its jobs run, by package preflight, with the credentials, keys
// and caches of this process. It also opens the key that signs their commits and the run's evidence ([Key]), removes
// what killed runs have left ([Sweep]), and has the options for those who call preflight themselves ([Look]). Which
// repositories are refused is not decided here, but by package preflight; it runs no job.
package repos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// Run is the run whose repositories are checked.
type Run struct {
	ID      string
	History history.Run        // what earlier processes did; the zero value for a new run
	Fork    *savedsession.Fork // nil unless the run is forked from another
	Key     *signing.Key       // nil if no commit is signed
	Queued  bool               // a queue delivers its jobs: each to one worker at a time, and to the next one if that hangs
}

// Check checks the repositories of a run's plan, reserves the run's branches and logs
// the progress of fetching. It returns the plan, with another branch if the run is a fork and its branch exists.
func Check(ctx context.Context, w world.World, plan *tasks.Plan, r Run, quiet bool, known *redact.Redactor, pulls *apis.Clients) (*tasks.Plan, *preflight.Result, error) {
	look := Look(w, pulls.Hosts)
	look.Forge = pulls.Open
	look.Signing = Signing(w, r.Key)
	look.Run, look.History = r.ID, r.History
	if !r.Queued {
		look.Reserve = filepath.Join(w.CacheDir(), "branches")
	}
	if !quiet {
		look.Fetching = func(name string) { fmt.Fprintln(w.Err, printable.Text("fetching "+name)) }
		look.Fetched = func(name string, err error) {
			if err != nil {
				fmt.Fprintln(w.Err, printable.Text(known.Text(fmt.Sprintf("fetch %s: %v", name, err))))
				return
			}
			fmt.Fprintln(w.Err, printable.Text("fetched "+name))
		}
	}
	ready, err := preflight.Check(ctx, plan, look)
	for r.Fork != nil && err != nil {
		next, ok := r.Fork.NextBranch(plan, err)
		if !ok {
			break
		}
		plan = next
		ready, err = preflight.Check(ctx, plan, look)
	}
	var interrupt event.Interrupt
	switch {
	case errors.As(context.Cause(ctx), &interrupt):
		return plan, nil, fault.New(interrupt.Exit, "%w; nothing was run", interrupt)
	case ctx.Err() != nil:
		return plan, nil, fault.New(event.ExitDeadline, "%w; nothing was run", context.Cause(ctx))
	case err != nil && r.Queued:
		return plan, nil, err
	case err != nil:
		return plan, nil, fault.New(event.ExitUsage, "%s; nothing was run", known.Text(err.Error()))
	}
	return plan, ready, nil
}

// Look returns the options of a preflight.
func Look(w world.World, f *credentials.Forges) preflight.Options {
	return preflight.Options{Git: w.GitEnv(), Mirrors: w.Mirrors(), Auth: f.ForRemotes, Proxy: w.Proxy}
}
