package runner

import (
	"context"

	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// What a caller of [Run] needs of the preflight before.
type (
	PreflightOptions = preflight.Options
	PreflightResult  = preflight.Result
	Refusal          = preflight.Refusal
	Signing          = preflight.Signing
)

// Preflight is [preflight.Check].
func Preflight(ctx context.Context, plan *tasks.Plan, look PreflightOptions) (*PreflightResult, error) {
	return preflight.Check(ctx, plan, look)
}

// Refusals is [preflight.Refusals].
func Refusals(err error) []*Refusal { return preflight.Refusals(err) }
