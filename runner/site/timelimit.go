package site

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/session"
)

// timeLimit is what a job's time limit does not count: waits for a provider that is down.
type timeLimit struct {
	mu      sync.Mutex
	waiting int // sessions
	since   time.Time
	paused  time.Duration // before since
}

// Pause stops the job's time limit until resume is called.
func (l *timeLimit) Pause(now func() time.Time) (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting++; l.waiting == 1 {
		l.since = now()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			l.paused += now().Sub(l.since)
		}
	}
}

// left returns the rest at now of a limit that started at from, and when to look again.
func (l *timeLimit) left(now, from time.Time, limit time.Duration) (left, again time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left = limit + l.paused - now.Sub(from)
	if l.waiting == 0 {
		return left, left
	}
	left += now.Sub(l.since)
	return left, max(left, time.Second)
}

// Within returns a time that ends before the job's time limit does, so that the job can still end after it.
func (s *Site) Within(most time.Duration) time.Duration {
	limit := s.job.Spec.Limits.Time
	if limit == 0 {
		return most
	}
	left, _ := s.job.TimeLimit.left(s.job.opts.Now(), s.prepared, limit)
	return min(most, left-min(left/10, 10*time.Second))
}

// InTime returns a context that ends at the job's time limit, which starts when the job
// is prepared and includes setup and session.
func (s *Site) InTime(ctx context.Context) (context.Context, context.CancelFunc) {
	j := s.job
	ctx, cancel := context.WithCancelCause(ctx)
	limit := j.Spec.Limits.Time
	if limit == 0 {
		return ctx, func() { cancel(nil) }
	}
	timeout := session.Timeout{Code: event.CodeLimit, Reason: fmt.Sprintf("job timed out after %s", limit)}
	left, again := j.TimeLimit.left(j.opts.Now(), s.prepared, limit)
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
			left, again = j.TimeLimit.left(j.opts.Now(), s.prepared, limit)
		}
		cancel(timeout)
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// TimeLeft returns the rest of the job's time limit; 0 without a limit.
func (s *Site) TimeLeft() time.Duration {
	limit := s.job.Spec.Limits.Time
	if limit == 0 {
		return 0
	}
	left, _ := s.job.TimeLimit.left(s.job.opts.Now(), s.prepared, limit)
	return max(left, 1)
}
