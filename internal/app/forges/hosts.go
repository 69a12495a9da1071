// Package forges gives the credentials and clients of forges what they need of a plan and of the process, and decides how a
// command ends whose requests fail. It does not send requests.
package forges

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/tasks"
)

// Hosts returns the credentials of the git hosts of a plan. In an untrusted run, the
// manifest does not decide which server gets a token.
func Hosts(w world.World, plan *tasks.Plan, hold func(token string)) *credentials.Forges {
	return credentials.NewForges(plan.Forges, credentials.Options{
		Getenv: w.Getenv, Environ: w.Environ(), Untrusted: plan.Policies.IsUntrusted(), Now: w.Now, Sleep: w.Sleep, Hold: hold, Proxy: w.Proxy,
	})
}

// Clients returns clients with these credentials. notify gets a text before a request is repeated; nil for none.
func Clients(w world.World, hosts *credentials.Forges, notify func(text string)) *apis.Clients {
	return &apis.Clients{
		Environment: apis.Environment{Getenv: w.Getenv, Proxy: w.Proxy, Now: w.Now, Sleep: w.Sleep, UserAgent: "millhand/" + w.Version},
		Hosts:       hosts, Notify: notify,
	}
}

// Failure returns the error for requests that failed before anything was run: its kind follows from err, and its
// message is text.
func Failure(ctx context.Context, text, err error) error {
	var interrupt event.Interrupt
	exit := event.ExitUsage
	switch {
	case errors.As(context.Cause(ctx), &interrupt):
		return fault.New(interrupt.Exit, "%w; nothing was run", interrupt)
	case ctx.Err() != nil:
		return fault.New(event.ExitDeadline, "%w; nothing was run", context.Cause(ctx))
	case errors.Is(err, forge.ErrDenied):
		exit = event.ExitAuth
	case errors.Is(err, forge.ErrLimited) || errors.Is(err, forge.ErrUnreachable) || errors.Is(err, forge.ErrIncomplete):
		exit = event.ExitUnavailable
	}
	return fault.New(exit, "%w; nothing was run", text)
}
