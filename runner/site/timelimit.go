package site

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// TimeLimit is the time limit of a job, which starts when the job is prepared and includes setup and session. It does not
// count the baseline, nor waits for a provider that is down. The zero value limits nothing.
type TimeLimit struct {
	limit time.Duration // 0 for none
	now   func() time.Time

	mu      sync.Mutex
	started time.Time
	pauses  int // that have not ended: of sessions, which can wait concurrently
	since   time.Time
	paused  time.Duration // before since
}

// start starts the limit.
func (l *TimeLimit) start() {
	if l.limit == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = l.now()
}

// Pause stops the limit until resume is called.
func (l *TimeLimit) Pause() (resume func()) {
	if l.limit == 0 {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses++; l.pauses == 1 {
		l.since = l.now()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pauses--; l.pauses == 0 {
			l.paused += l.now().Sub(l.since)
		}
	}
}

// left returns the rest of the limit, and when to look again.
func (l *TimeLimit) left() (left, again time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	left = l.limit + l.paused - now.Sub(l.started)
	if l.pauses == 0 {
		return left, left
	}
	left += now.Sub(l.since)
	return left, max(left, time.Second)
}

// Within returns a time that ends before the limit does, so that the job can still end after it.
func (l *TimeLimit) Within(most time.Duration) time.Duration {
	if l.limit == 0 {
		return most
	}
	left, _ := l.left()
	return min(most, left-min(left/10, 10*time.Second))
}

// In returns a context that ends at the limit.
func (l *TimeLimit) In(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if l.limit == 0 {
		return ctx, func() { cancel(nil) }
	}
	timeout := event.EndCause{Code: event.CodeLimit, Reason: fmt.Sprintf("job timed out after %s", l.limit)}
	left, again := l.left()
	if left <= 0 {
		cancel(timeout)
		return ctx, func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for left > 0 {
			timer := time.NewTimer(again)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			left, again = l.left()
		}
		cancel(timeout)
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// Left returns the rest of the limit, at least 1; 0 without a limit.
func (l *TimeLimit) Left() time.Duration {
	if l.limit == 0 {
		return 0
	}
	left, _ := l.left()
	return max(left, 1)
}
