package site

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/ending"
)

// ContextText returns what the job's prompt has of the issue or pull request of the CI's event; "" for nothing. It is
// in the conversation from then on, so a run that is resumed has the same.
func (j *Job) ContextText(ctx context.Context) (string, *ending.Stop) {
	if j.Spec.Context == nil {
		return "", nil
	}
	text, err := j.Start.Context.Text(ctx, *j.Spec.Context)
	switch {
	case ctx.Err() != nil:
		return "", ending.Of(ctx)
	case err != nil:
		return "", ending.Fault(event.CodeClone, fmt.Errorf("context: %w", err))
	}
	return j.opts.Redact.Text(text), nil
}
