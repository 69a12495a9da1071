package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/millhand/millhand/internal/model"
)

// limit is the timeout of the next data, and whether every
// received byte restarts it.
type limit struct {
	after  time.Duration
	renews bool
	what   string
}

// errGrace ends an optional wait.
var errGrace = errors.New("waited long enough")

// grace is a wait whose timeout is not a failure.
func grace(d time.Duration) limit { return limit{after: d} }

// watchdog cancels a request without progress. It is called only by the
// goroutine that reads; its timers run in others.
type watchdog struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	end    *time.Timer // limits the total time
	quiet  *time.Timer // limits the time without content; nil before the response starts
	silent time.Duration
	limit  atomic.Pointer[limit]
}

// watch returns the context for a request, and its watchdog.
func watch(parent context.Context, first limit, total time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{cancel: cancel}
	w.end = time.AfterFunc(total, func() {
		cancel(model.Fail(model.ClassUnavailable, fmt.Errorf("response timed out after %v", total)))
	})
	w.limit.Store(&first)
	w.timer = time.AfterFunc(first.after, w.expire)
	return ctx, w
}

func (w *watchdog) expire() {
	l := w.limit.Load()
	if l.what == "" {
		w.cancel(errGrace)
		return
	}
	w.cancel(model.Fail(model.ClassUnavailable, fmt.Errorf("%s %v", l.what, l.after)))
}

// expect starts the next timeout.
func (w *watchdog) expect(l limit) {
	w.limit.Store(&l)
	w.timer.Reset(l.after)
}

// progress is called after every read that returned data.
func (w *watchdog) progress() {
	if l := w.limit.Load(); l.renews {
		w.timer.Reset(l.after)
	}
}

// limitQuiet limits the time without content from now on.
func (w *watchdog) limitQuiet(d time.Duration) {
	w.silent = d
	w.quiet = time.AfterFunc(d, func() {
		w.cancel(model.Fail(model.ClassUnavailable, fmt.Errorf("no content within %v, only keep-alives", d)))
	})
}

// content is called for every event with content.
func (w *watchdog) content() { w.quiet.Reset(w.silent) }

func (w *watchdog) stop() {
	w.timer.Stop()
	if w.quiet != nil {
		w.quiet.Stop()
	}
	w.end.Stop()
	w.cancel(context.Canceled)
}

// reason returns the cause of the error err of a request under ctx: that
// the caller's context parent was cancelled, that a timeout expired, or err.
func reason(parent, ctx context.Context, err error) error {
	if parent.Err() != nil {
		return context.Cause(parent)
	}
	var passed *model.Error
	if errors.As(context.Cause(ctx), &passed) {
		return passed
	}
	return err
}

// headLength is the maximum length of a response quoted in an error.
const headLength = 300

// tap monitors the bytes of a body, limits them, and saves the start.
type tap struct {
	io.ReadCloser
	progress func()
	read     int64
	head     []byte
}

var errTooLong = fmt.Errorf("response too long: more than %d MiB", responseLimit>>20)

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		t.progress()
		t.head = append(t.head, p[:min(n, headLength-len(t.head))]...)
	}
	if t.read += int64(n); t.read > responseLimit {
		return n, errTooLong
	}
	return n, err
}
