package runner

import (
	"context"

	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// What a caller of [Run] needs of the packages below before.
type (
	PreflightOptions = preflight.Options
	PreflightResult  = preflight.Result
	Refusal          = preflight.Refusal
	Signing          = preflight.Signing
	Fork             = savedsession.Fork
	ForkRequest      = savedsession.Request
)

// Preflight is [preflight.Check].
func Preflight(ctx context.Context, plan *tasks.Plan, look PreflightOptions) (*PreflightResult, error) {
	return preflight.Check(ctx, plan, look)
}

// Refusals is [preflight.Refusals].
func Refusals(err error) []*Refusal { return preflight.Refusals(err) }

// NewFork is [savedsession.NewFork].
func NewFork(past *history.Past, q ForkRequest) (*Fork, error) { return savedsession.NewFork(past, q) }

// Narrow is [savedsession.Narrow].
func Narrow(plan *tasks.Plan, past *history.Past) error { return savedsession.Narrow(plan, past) }

// RevertTo is [savedsession.RevertTo].
func RevertTo(past *history.Past, dir, job string, turn int) (history.Run, error) {
	return savedsession.RevertTo(past, dir, job, turn)
}
