// Package clock waits for time to pass. What decides by time has a [Sleep], so that its tests need not wait. It
// knows nothing of what is waited for.
package clock

import (
	"context"
	"time"
)

// Clock is how time is read and waited for.
type Clock struct {
	Now   func() time.Time
	Sleep Sleep
}

// Sleep waits for a duration, or returns the context's cause if that ends first. Nil is real time, of [Sleep.For].
type Sleep func(ctx context.Context, d time.Duration) error

// For calls s, or waits in real time if it is nil.
func (s Sleep) For(ctx context.Context, d time.Duration) error {
	if s == nil {
		return Wait(ctx, d)
	}
	return s(ctx, d)
}

// Wait waits in real time, or returns the context's cause if that ends first, or has ended.
func Wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil { // a short wait would hide it
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
