package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// lost returns the reported usage of an interrupted response; nil if it never
// started, because it is not charged.
func lost(a Decoder, started bool) *money.Charge {
	told := a.Spent()
	if !started && a.Progress() == Waiting && told.Usage == (money.Usage{}) && told.CostUSD == nil {
		return nil
	}
	return &told
}

// exchange sends a request and returns the response, whose body the caller closes, or the
// error that the provider sent instead.
func (l *Endpoint) exchange(ctx context.Context, guard *watchdog, r Request) (*http.Response, error) {
	resp, err := l.send(l.post(ctx, r), r.Body)
	if err != nil {
		return nil, err
	}
	guard.expect(l.idle)
	guard.limitQuiet(l.quiet)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var said bytes.Buffer
	// A truncated body is still useful.
	_, _ = said.ReadFrom(io.LimitReader(resp.Body, faultLimit))
	return nil, l.Faults.status(resp, said.Bytes())
}

// send sends a request with a body, and with a key of the source, if there is one. If the
// provider rejects the key, it sends it again with a new one.
func (l *Endpoint) send(r *http.Request, body Body) (*http.Response, error) {
	last := ""
	for {
		key := ""
		if l.keys != nil {
			var err error
			if key, err = l.keys.Key(r.Context()); err != nil {
				return nil, l.noKey(r.Context(), err)
			}
			l.authorize(r, key)
		}
		body.load(r)
		resp, err := l.client.Do(r)
		if err != nil {
			return nil, l.unreachable(r, err)
		}
		l.answered.Store(true)
		if resp.StatusCode != http.StatusUnauthorized || key == last {
			return resp, nil
		}
		l.keys.Reject(r.Context(), key)
		if last != "" { // a new key was rejected, too
			return resp, nil
		}
		last = key
		_, _ = io.CopyN(io.Discard, resp.Body, faultLimit) // to reuse the connection
		resp.Body.Close()
	}
}

// read reads the response, in either form.
func (l *Endpoint) read(guard *watchdog, kind string, t *tap, a bounded) (model.Response, error) {
	body := bufio.NewReader(t)
	if bom, err := body.Peek(3); err == nil && string(bom) == "\uFEFF" {
		_, _ = body.Discard(3) // peeked above
	}
	var err error
	switch formOf(kind, body) {
	case formStream:
		err = l.readStream(guard, body, a)
	case formBody:
		err = l.readBody(body, a)
	default:
		guard.expect(grace(usageGrace))
		_, _ = io.CopyN(io.Discard, body, headLength) // for the error message
		err = l.Faults.Garbled("response is not an event stream but %q: %s", kind, t.head)
	}
	if err != nil {
		return model.Response{}, err
	}
	resp, err := a.Conclude()
	switch {
	case err == nil:
		return resp, nil
	case a.Progress() == Waiting: // the body explains the failure
		return model.Response{}, l.Faults.Garbled("%v, with nothing in it: %s", err, t.head)
	}
	return model.Response{}, l.Faults.Garbled("%v", err)
}

// readStream reads events until the response is complete. It then waits only briefly
// for the end of the stream, because some servers keep the connection open.
func (l *Endpoint) readStream(guard *watchdog, body *bufio.Reader, a bounded) error {
	come := newEvents(body, a.maxLine())
	var patience time.Duration
	size := 0
	for a.Progress() != Done && come.next() {
		if err := a.Event(come.kind, come.data); err != nil {
			return ignoreAfterFinish(a, err)
		}
		if err := a.tooLarge(l.Faults); err != nil {
			return ignoreAfterFinish(a, err)
		}
		if now := a.Size(); now != size {
			size = now
			guard.content()
		}
		if now := l.waitLimit(a.Progress()); now != patience {
			patience = now
			guard.expect(grace(now))
		}
	}
	if come.err != nil {
		if a.Progress() == Finished {
			l.uncounted.Store(true)
		}
		return ignoreAfterFinish(a, l.broken(come.err))
	}
	if a.Progress() == Done { // reads to the end, so that the connection can be reused
		guard.expect(grace(drainGrace))
		_, _ = io.Copy(io.Discard, io.LimitReader(body, faultLimit))
	}
	return nil
}

// ignoreAfterFinish ignores an error after the response is complete.
func ignoreAfterFinish(a Decoder, err error) error {
	if a.Progress() >= Finished {
		return nil
	}
	return err
}

// waitLimit returns how long to wait for more: 0, which is no limit, while the model
// is responding.
func (l *Endpoint) waitLimit(p Progress) time.Duration {
	switch {
	case p >= Counted:
		return drainGrace
	case p == Finished && l.uncounted.Load():
		return usageGrace
	case p == Finished:
		return usageFirst
	default:
		return 0
	}
}

func (l *Endpoint) readBody(body io.Reader, a bounded) error {
	data, err := io.ReadAll(io.LimitReader(body, int64(a.maxLine())+1))
	switch {
	case err != nil:
		return l.broken(err)
	case len(data) > a.maxLine():
		return l.Faults.Garbled("response too long: more than %d bytes", a.maxLine())
	}
	if err := a.Body(valid(bytes.TrimSpace(data))); err != nil {
		return err
	}
	return a.tooLarge(l.Faults)
}

// bounded is a Decoder with a limit on the bytes of content.
type bounded struct {
	Decoder
	max int
}

// maxLine returns the maximum bytes of one event: all of the content with JSON
// escapes, and its envelope.
func (b bounded) maxLine() int { return 2*b.max + slackLimit }

// tooLarge returns the error of a response that exceeds the limit.
func (b bounded) tooLarge(f Faults) error {
	if b.Size() <= b.max {
		return nil
	}
	return f.Garbled("response too long: more than %d bytes, for a request of at most %d output tokens", b.max, b.max/tokenLimit)
}

// broken returns the error of an interrupted response.
func (l *Endpoint) broken(err error) error {
	if errors.Is(err, errTooLong) || errors.As(err, new(longLineError)) {
		return l.Faults.Garbled("read response: %v", err)
	}
	return l.Faults.transport("response interrupted", l.url, err)
}
