package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// Endpoint is the way to one model. It is safe for concurrent use.
type Endpoint struct {
	Base   string // URL, without a slash at its end
	Client *http.Client
	Faults Faults

	header limit
	idle   limit
	quiet  time.Duration
	total  time.Duration
	refuse error // what every request fails with, or nil

	uncounted atomic.Bool // usage was waited for in vain
}

// NewEndpoint returns the endpoint that o describes; base is the URL if o has none. With
// an invalid base URL every request fails.
func NewEndpoint(o Options, base string) *Endpoint {
	base = strings.TrimRight(cmp.Or(o.BaseURL, base), "/")
	client := o.HTTPClient
	if client == nil {
		client = newHTTPClient(o.Proxy)
	}
	return &Endpoint{
		Base:   base,
		Client: client,
		Faults: Faults{secrets: secrets(o), now: o.Now},
		header: limit{cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout), false, "no response within"},
		idle:   limit{cmp.Or(o.IdleTimeout, DefaultIdleTimeout), true, "response stalled: no data for"},
		quiet:  cmp.Or(o.QuietTimeout, DefaultQuietTimeout),
		total:  cmp.Or(o.TotalTimeout, DefaultTotalTimeout),
		refuse: checkBase(base),
	}
}

// checkBase says what is wrong with a base URL, which it does not quote: there
// may be a password in it.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return model.Fail(model.ClassRequest, errors.New("make the request: the base URL is not of the form https://host/path"))
	}
	return nil
}

// Decoder grows with what a provider sends. Its errors are made by [Faults].
type Decoder interface {
	// Event decodes an event of a stream. It may keep data.
	Event(kind string, data []byte) error
	// Body decodes a response that was not streamed.
	Body(data []byte) error
	// Progress reports how much of the response was received.
	Progress() Progress
	// Size is the number of bytes of content so far. Keep-alives have none.
	Size() int
	// Conclude returns the response, or an unclassified error if it is incomplete or
	// invalid.
	Conclude() (model.Response, error)
	// Spent is what the provider reported of usage and cost so far. It is marked as
	// estimated unless that is the last word.
	Spent() money.Charge
}

// Progress is how much of a response was received.
type Progress int

// The stages of a response.
const (
	Waiting  Progress = iota // nothing came
	Going                    // the model goes on
	Finished                 // the model has finished; the usage is still out
	Counted                  // nothing is missing; the end was not announced
	Done                     // the end was announced
)

// Carrier is a middleware of the SDKs.
type Carrier = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error)

// Post sends a request by an SDK, which must let carry have it, and returns the
// response unread.
type Post func(ctx context.Context, carry Carrier) (*http.Response, error)

// Complete posts the body and reads the response to a request for so many tokens of
// output, 0 if it sets no limit. A response of a multiple of that is cut off, since
// it would have no end, and fails. Failures are classified, except that of the
// caller's context; what was reported of their usage is in Lost.
func (l *Endpoint) Complete(ctx context.Context, body Body, post Post, a Decoder, output int) (model.Response, error) {
	if l.refuse != nil {
		return model.Response{}, l.refuse
	}
	guarded, guard := watch(ctx, l.header, l.total)
	defer guard.stop()
	resp, err := l.complete(guarded, guard, body, post, bounded{a, tokenLimit * max(cmp.Or(output, guessTokens), minTokens)})
	if err != nil {
		return model.Response{Lost: lost(a)}, reason(ctx, guarded, err)
	}
	return resp, nil
}

// lost is what was reported of an interrupted response; nil for one that never
// began, which is not charged.
func lost(a Decoder) *money.Charge {
	told := a.Spent()
	if a.Progress() == Waiting && told.Usage == (money.Usage{}) && told.CostUSD == nil {
		return nil
	}
	return &told
}

func (l *Endpoint) complete(ctx context.Context, guard *watchdog, body Body, post Post, a bounded) (model.Response, error) {
	raw, err := post(ctx, func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) { //nolint:bodyclose // the tap closes it
		body.load(r)
		return l.exchange(guard, r, next)
	})
	if err != nil {
		var failed *model.Error
		if errors.As(err, &failed) {
			return model.Response{}, err
		}
		return model.Response{}, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %s", l.Faults.clean(err.Error())))
	}
	received := &tap{ReadCloser: raw.Body, progress: guard.progress}
	defer received.Close()
	return l.read(guard, raw.Header.Get("Content-Type"), received, a)
}

// exchange carries the request and judges the head of the response before the
// SDK does, which would read an error's body without bound and lose what is not
// in its provider's form.
func (l *Endpoint) exchange(guard *watchdog, r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := next(r)
	if err != nil {
		return nil, l.Faults.transport("reach "+r.URL.Host, err)
	}
	guard.expect(l.idle)
	guard.limitQuiet(l.quiet)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	// A body cut short still tells more than none.
	_, _ = body.ReadFrom(io.LimitReader(resp.Body, faultLimit))
	return nil, l.Faults.status(resp, body.Bytes())
}

// read reads the response, in either form.
func (l *Endpoint) read(guard *watchdog, kind string, t *tap, a bounded) (model.Response, error) {
	body := bufio.NewReader(t)
	if bom, err := body.Peek(3); err == nil && string(bom) == "\uFEFF" {
		_, _ = body.Discard(3) // it was peeked at
	}
	var err error
	switch formOf(kind, body) {
	case formStream:
		err = l.readStream(guard, body, a)
	case formBody:
		err = l.readBody(body, a)
	default:
		guard.expect(grace(usageGrace))
		_, _ = io.CopyN(io.Discard, body, headLength) // as much as there is, to quote it
		err = l.Faults.Garbled("response is not an event stream but %q: %s", kind, t.head)
	}
	if err != nil {
		return model.Response{}, err
	}
	resp, err := a.Conclude()
	switch {
	case err == nil:
		return resp, nil
	case a.Progress() == Waiting: // then what came is of interest
		return model.Response{}, l.Faults.Garbled("%v, with nothing in it: %s", err, t.head)
	}
	return model.Response{}, l.Faults.Garbled("%v", err)
}

// readStream reads events until the response is complete. What follows then is
// waited for only a moment, since servers have been seen to keep the connection
// open.
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
	if a.Progress() == Done { // a courtesy to the connection, which can be used again at its end only
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

// waitLimit is how long to wait for more: 0, which is no bound of its own, while
// the model goes on.
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

// bounded is a response of which no more than so many bytes of content are read.
type bounded struct {
	Decoder
	max int
}

// maxLine is the most bytes of one event: all of the content, with the escapes of
// JSON and what is around it.
func (b bounded) maxLine() int { return 2*b.max + slackLimit }

// tooLarge is the error of a response that is longer than any regular one.
func (b bounded) tooLarge(f Faults) error {
	if b.Size() <= b.max {
		return nil
	}
	return f.Garbled("response too long: more than %d bytes, for a request of at most %d output tokens", b.max, b.max/tokenLimit)
}

// broken is the error of an interrupted response.
func (l *Endpoint) broken(err error) error {
	if errors.Is(err, errTooLong) || errors.As(err, new(longLineError)) {
		return l.Faults.Garbled("read response: %v", err)
	}
	return l.Faults.transport("response interrupted", err)
}
