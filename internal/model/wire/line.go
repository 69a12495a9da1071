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

	"github.com/millhand/millhand/internal/keys"
	"github.com/millhand/millhand/internal/lazyregexp"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// Endpoint is the way to one model. It is safe for concurrent use.
type Endpoint struct {
	Base   string // URL, without a slash at its end
	Client *http.Client
	Faults Faults
	// KeyHeader is the API's own header for keys that are not tokens; "" for none.
	KeyHeader string

	keys   *keys.Source // nil for a key that the SDK sends
	header limit
	idle   limit
	quiet  time.Duration
	total  time.Duration
	refuse error // the error of every request, or nil

	uncounted atomic.Bool // waiting for the usage timed out before
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
		quiet:  cmp.Or(o.QuietTimeout, max(DefaultQuietTimeout, o.IdleTimeout)),
		total:  cmp.Or(o.TotalTimeout, DefaultTotalTimeout),
		refuse: checkBase(base),
		keys:   o.Keys,
	}
}

// checkBase returns what is wrong with a base URL, without quoting it: it may contain a
// password.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return model.Fail(model.ClassRequest, errors.New("make the request: the base URL is not of the form https://host/path"))
	}
	return nil
}

// Decoder decodes a response incrementally. Its errors are created by [Faults].
type Decoder interface {
	// Event decodes an event of a stream. It may retain data.
	Event(kind string, data []byte) error
	// Body decodes a response that was not streamed.
	Body(data []byte) error
	// Progress reports how much of the response was received.
	Progress() Progress
	// Size returns the number of bytes of content so far. Keep-alives have none.
	Size() int
	// Conclude returns the response, or an unclassified error if it is incomplete or
	// invalid.
	Conclude() (model.Response, error)
	// Spent returns the usage and cost reported so far, marked as estimated unless they
	// are final.
	Spent() money.Charge
}

// Progress is the progress of a response.
type Progress int

// The stages of a response.
const (
	Waiting  Progress = iota // no content yet
	Going                    // content is arriving
	Finished                 // finish reason received, usage missing
	Counted                  // everything received, the end was not announced
	Done                     // the end was announced
)

// Carrier is a middleware of the SDKs.
type Carrier = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error)

// Post sends a request with an SDK, which must use carry as middleware, and returns the
// unread response.
type Post func(ctx context.Context, carry Carrier) (*http.Response, error)

// With returns a Post that also sends headers. They don't replace what the request has, such as keys.
func (p Post) With(headers map[string]string) Post {
	if len(headers) == 0 {
		return p
	}
	return func(ctx context.Context, carry Carrier) (*http.Response, error) {
		return p(ctx, func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			for name, value := range headers {
				if r.Header.Get(name) == "" {
					r.Header.Set(name, value)
				}
			}
			return carry(r, next)
		})
	}
}

// Complete sends the body and reads the response to a request for at most output
// tokens; 0 is no limit. A response larger than a multiple of that is aborted, because
// it could be endless. Errors are classified, except that of the
// caller's context; their Lost has the reported usage.
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

// lost returns the reported usage of an interrupted response; nil if it never
// started, because it is not charged.
func lost(a Decoder) *money.Charge {
	told := a.Spent()
	if a.Progress() == Waiting && told.Usage == (money.Usage{}) && told.CostUSD == nil {
		return nil
	}
	return &told
}

func (l *Endpoint) complete(ctx context.Context, guard *watchdog, body Body, post Post, a bounded) (model.Response, error) {
	raw, err := post(ctx, func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) { //nolint:bodyclose // the tap closes it
		return l.exchange(guard, r, body, next)
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

// send sends the request with the body, and the key if the SDK doesn't. If the provider
// rejects the key, it sends it again with a new one.
func (l *Endpoint) send(r *http.Request, body Body, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
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
		resp, err := next(r)
		if err != nil {
			return nil, l.Faults.transport("reach "+r.URL.Host, err)
		}
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

// noKey is the error of a request without a key.
func (l *Endpoint) noKey(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return model.Fail(model.ClassAuth, errors.New(l.Faults.clean(err.Error())))
}

// tokenForm matches keys that are access tokens: JSON web tokens, and those of Google and
// Anthropic. They are sent as bearer tokens, also where keys have a header of their own.
var tokenForm = lazyregexp.New(`^(eyJ|ya29\.|sk-ant-oat)`)

func (l *Endpoint) authorize(r *http.Request, key string) {
	if l.KeyHeader == "" || tokenForm.MatchString(key) {
		r.Header.Set("Authorization", "Bearer "+key)
		return
	}
	r.Header.Set(l.KeyHeader, key)
}

// exchange sends the request and checks the status before the
// SDK does, which would read an error's body without a limit and discard errors
// in unknown forms.
func (l *Endpoint) exchange(guard *watchdog, r *http.Request, body Body, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := l.send(r, body, next)
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
	return l.Faults.transport("response interrupted", err)
}
