package ending

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/event"
)

// First runs steps until one returns a stop.
func First(ctx context.Context, steps ...func(context.Context) *Stop) *Stop {
	for _, step := range steps {
		if end := step(ctx); end != nil {
			return end
		}
	}
	return nil
}

// OfGit returns the stop of a job whose changes could not be saved.
func OfGit(ctx context.Context, what string, err error) *Stop {
	if ctx.Err() != nil {
		return Of(ctx)
	}
	return Fault(event.CodeCommit, fmt.Errorf("%s: %w", what, err))
}

// Reason returns the reason of a stop; "" for none.
func Reason(s *Stop) string {
	if s == nil {
		return ""
	}
	return s.Detail
}
