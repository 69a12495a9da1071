package runs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
)

// Preflight checks the repositories of a run's plan, reserves the run's branches and logs
// the progress of fetching.
func Preflight(ctx context.Context, w world.World, c Checked, s Starting, quiet bool, known *redact.Redactor, pulls *forges.Clients) (*preflight.Result, error) {
	plan := c.Plan
	look := Look(w, pulls.Hosts)
	look.Forge = pulls.Open
	look.Signing = signs(w, c.Key)
	look.Run, look.History = s.ID, s.History
	if s.Queued == nil { // a queue delivers a job to one worker at a time, and to the next one if that hangs
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
	for s.fork != nil && err != nil && s.fork.NextBranch(plan, err) {
		ready, err = preflight.Check(ctx, plan, look)
	}
	plan.Notes = append(plan.Notes, pulls.Warnings()...)
	var interrupt ending.Interrupt
	switch {
	case errors.As(context.Cause(ctx), &interrupt):
		return nil, fault.New(interrupt.Exit, "%w; nothing was run", interrupt)
	case ctx.Err() != nil:
		return nil, fault.New(event.ExitDeadline, "%w; nothing was run", context.Cause(ctx))
	case err != nil && s.Queued != nil:
		return nil, err
	case err != nil:
		return nil, fault.New(event.ExitUsage, "%s; nothing was run", known.Text(err.Error()))
	}
	return ready, nil
}

// Look returns the options of a preflight.
func Look(w world.World, f *credentials.Forges) preflight.Options {
	return preflight.Options{Git: w.GitEnv(), Mirrors: w.Mirrors(), Auth: f.ForRemotes, Proxy: w.Proxy}
}
