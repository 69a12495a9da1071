package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// progress is what a response has so far: a [Decoder] without the type of its events.
type progress interface {
	Body(data []byte) error
	Failed(data []byte)
	End()
	Progress() Progress
	Size() int
	Conclude() (model.Response, error)
	Spent() money.Charge
}

// attempt is one request, and its response.
type attempt struct {
	endpoint *Endpoint
	guard    *watchdog
	request  Request
	decoder  progress
	max      int // bytes of content

	tap  *tap   // the bytes of the response; nil before it starts
	feed *feed  // its events, if it is a stream
	body []byte // the response, if it is not a stream
	kind string // content type
	err  error  // why no response could be read
}

// carry is the middleware of the SDK: it sends what the SDK encoded together with the
// conversation, checks the status before the SDK does, which would read an error's body without
// a limit, and hands the events to the SDK in the form that it requires.
func (c *attempt) carry(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	var resp *http.Response
	resp, c.err = c.exchange(r, next)
	if c.err != nil {
		return nil, c.err
	}
	c.tap = &tap{ReadCloser: resp.Body, progress: c.guard.progress}
	c.kind = resp.Header.Get("Content-Type")
	if c.err = c.open(); c.err != nil {
		return nil, c.err
	}
	fed := *resp
	fed.Header = http.Header{"Content-Type": {"text/event-stream"}}
	fed.Body = http.NoBody
	if c.feed != nil {
		fed.Body = c.feed
	}
	return &fed, nil
}

// exchange sends a request and returns the response, or the error that the provider sent instead.
func (c *attempt) exchange(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	rest, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the fields of the request: %w", err)
	}
	for name, value := range c.request.Added {
		if r.Header.Get(name) == "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := c.endpoint.send(r, c.request.Said.with(rest), next)
	if err != nil {
		return nil, err
	}
	c.guard.expect(c.endpoint.idle)
	c.guard.limitQuiet(c.endpoint.quiet)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var said bytes.Buffer
	// A truncated body is still useful.
	_, _ = said.ReadFrom(io.LimitReader(resp.Body, faultLimit))
	return nil, c.endpoint.Faults.status(resp, said.Bytes())
}

// send sends a request with a body, and with a key of the source, if there is one. If the
// provider rejects the key or the credentials, it sends it again with new ones.
func (l *Endpoint) send(r *http.Request, body Body, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	last, to := "", *r.URL
	renewed := false
	for {
		key := ""
		if l.ready != nil {
			if err := l.ready(r.Context()); err != nil {
				return nil, l.noKey(r.Context(), err)
			}
		}
		if l.keys != nil {
			var err error
			if key, err = l.keys.Key(r.Context()); err != nil {
				return nil, l.noKey(r.Context(), err)
			}
			l.authorize(r, key)
		}
		sent := to // the SDKs for clouds write another one
		r.URL = &sent
		body.load(r)
		resp, err := next(r)
		if err != nil {
			return nil, l.unreachable(r, err)
		}
		l.answered.Store(true)
		switch {
		case l.reject != nil && !renewed && resp.StatusCode/100 == 4 && l.reject(resp):
			renewed = true
		case resp.StatusCode != http.StatusUnauthorized || key == last:
			return resp, nil
		default:
			l.keys.Reject(r.Context(), key)
			if last != "" { // a new key was rejected, too
				return resp, nil
			}
			last = key
		}
		_, _ = io.CopyN(io.Discard, resp.Body, faultLimit) // to reuse the connection
		resp.Body.Close()
	}
}

// open reads the start of a response, or all of it if it is no stream.
func (c *attempt) open() error {
	body := bufio.NewReader(c.tap)
	if bom, err := body.Peek(3); err == nil && string(bom) == "\uFEFF" {
		_, _ = body.Discard(3) // peeked above
	}
	switch formOf(c.kind, body) {
	case formStream:
		c.feed = &feed{events: newEvents(body, c.maxLine()), attempt: c}
		return nil
	case formBody:
		return c.read(body)
	case formOther:
	}
	c.guard.expect(grace(usageGrace))
	_, _ = io.CopyN(io.Discard, body, headLength) // for the error message
	return c.endpoint.Faults.Garbled("response is not an event stream but %q: %s", c.kind, c.tap.head)
}

func (c *attempt) read(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, int64(c.maxLine())+1))
	switch {
	case err != nil:
		return c.broken(err)
	case len(data) > c.maxLine():
		return c.endpoint.Faults.Garbled("response too long: more than %d bytes", c.maxLine())
	}
	c.body = valid(bytes.TrimSpace(data))
	return nil
}

// finish reads the response.
func finish[T any](c *attempt, stream Stream[T], a Decoder[T]) (model.Response, error) {
	err := c.err
	switch {
	case err != nil:
	case c.body != nil:
		if err = a.Body(c.body); err == nil {
			err = c.tooLarge()
		}
	default:
		err = c.follow(stream.Next, func() error { return a.Event(stream.Current()) }, stream.Err)
	}
	if err != nil {
		return model.Response{}, err
	}
	resp, err := a.Conclude()
	switch {
	case err == nil:
		return resp, nil
	case a.Progress() == Waiting: // the body explains the failure
		return model.Response{}, c.endpoint.Faults.Garbled("%v, with nothing in it: %s", err, c.tap.head)
	}
	return model.Response{}, c.endpoint.Faults.Garbled("%v", err)
}

// follow reads events until the response is complete. It then waits only briefly
// for the end of the stream, because some servers keep the connection open.
func (c *attempt) follow(next func() bool, take, failed func() error) error {
	var patience time.Duration
	size := 0
	for c.decoder.Progress() != Done && next() {
		if err := take(); err != nil {
			return c.ignoreAfterFinish(err)
		}
		if err := c.tooLarge(); err != nil {
			return c.ignoreAfterFinish(err)
		}
		if now := c.decoder.Size(); now != size {
			size = now
			c.guard.content()
		}
		if now := c.endpoint.waitLimit(c.decoder.Progress()); now != patience {
			patience = now
			c.guard.expect(grace(now))
		}
	}
	if err := c.failure(failed()); err != nil {
		return c.ignoreAfterFinish(err)
	}
	if c.decoder.Progress() == Done { // reads to the end, so that the connection can be reused
		c.guard.expect(grace(drainGrace))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.feed.events.body, faultLimit))
	}
	return nil
}

// failure returns why a stream ended, nil if it is for no failure.
func (c *attempt) failure(err error) error {
	switch {
	case c.feed == nil && err != nil: // of the SDK, before it sent anything
		return model.Fail(model.ClassRequest, fmt.Errorf("make the request: %s", c.endpoint.Faults.clean(err.Error())))
	case c.feed == nil:
		return nil
	case c.feed.err != nil:
		return c.feed.err
	case c.feed.events.err != nil:
		if c.decoder.Progress() == Finished {
			c.endpoint.uncounted.Store(true)
		}
		return c.broken(c.feed.events.err)
	case err != nil: // of the SDK, which could not decode an event
		return c.endpoint.Faults.Garbled("read response: %v", err)
	}
	return nil
}

// ignoreAfterFinish ignores an error after the response is complete.
func (c *attempt) ignoreAfterFinish(err error) error {
	if c.decoder.Progress() >= Finished {
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

// maxLine returns the maximum bytes of one event: all of the content with JSON
// escapes, and its envelope, as far as the SDKs read it.
func (c *attempt) maxLine() int { return min(2*c.max+slackLimit, lineLimit) }

// tooLarge returns the error of a response that exceeds the limit.
func (c *attempt) tooLarge() error {
	if c.decoder.Size() <= c.max {
		return nil
	}
	return c.endpoint.Faults.Garbled("response too long: more than %d bytes, for a request of at most %d output tokens", c.max, c.max/tokenLimit)
}

// broken returns the error of an interrupted response.
func (c *attempt) broken(err error) error {
	if errors.Is(err, errTooLong) || errors.As(err, new(longLineError)) {
		return c.endpoint.Faults.Garbled("read response: %v", err)
	}
	return c.endpoint.Faults.transport("response interrupted", c.endpoint.url, err)
}

// lost returns the reported usage of an interrupted response; nil if it never started, because
// it is not charged. A provider's error instead of it is no start.
func (c *attempt) lost(begun bool) *money.Charge {
	spent := c.decoder.Spent()
	begun = begun && c.tap != nil && c.tap.read > 0
	if !begun && c.decoder.Progress() == Waiting && spent.Usage == (money.Usage{}) && spent.CostUSD == nil {
		return nil
	}
	return &spent
}

func (c *attempt) close() {
	if c.tap != nil {
		c.tap.Close()
	}
}
