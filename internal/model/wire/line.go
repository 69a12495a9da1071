package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
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

// API is what the requests of an API have in common.
type API struct {
	BaseURL   string            // the default
	Path      string            // below the base URL
	KeyHeader string            // the API's own header for keys that are not tokens; "" for none
	Header    map[string]string // of every request
}

// Endpoint sends requests to one model. It is safe for concurrent use.
type Endpoint struct {
	Faults Faults

	client    *http.Client
	url       *url.URL
	headers   http.Header // of every request
	keyHeader string
	keys      *keys.Source // nil for a key in headers, or none
	header    limit
	idle      limit
	quiet     time.Duration
	total     time.Duration
	refuse    error // the error of every request, or nil

	uncounted atomic.Bool // waiting for the usage timed out before
	answered  atomic.Bool // the server has answered a request, or was asked whether it speaks TLS
}

// NewEndpoint returns the endpoint of an API that o describes. With an invalid base URL
// every request fails.
func NewEndpoint(o Options, api API) *Endpoint {
	client := o.HTTPClient
	if client == nil {
		client = NewHTTPClient(o.Proxy)
	}
	l := &Endpoint{
		Faults:    Faults{secrets: secrets(o), now: o.Now},
		client:    client,
		keyHeader: api.KeyHeader,
		keys:      o.Keys,
		header:    limit{cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout), false, "no response within"},
		idle:      limit{cmp.Or(o.IdleTimeout, DefaultIdleTimeout), true, "response stalled: no data for"},
		quiet:     cmp.Or(o.QuietTimeout, max(DefaultQuietTimeout, o.IdleTimeout)),
		total:     cmp.Or(o.TotalTimeout, DefaultTotalTimeout),
	}
	l.url, l.refuse = address(cmp.Or(o.BaseURL, api.BaseURL), api.Path, o.Query)
	l.headers = headersOf(o, api)
	return l
}

// address returns the URL of requests. A query of the base URL is dropped. Errors don't
// quote the base URL: it may contain a password.
func address(base, path string, query map[string]string) (*url.URL, error) {
	base, _, _ = strings.Cut(base, "#")
	base, _, _ = strings.Cut(base, "?")
	u, err := url.Parse(strings.TrimRight(base, "/") + "/" + path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, model.Fail(model.ClassRequest, errors.New("make the request: the base URL is not of the form https://host/path"))
	}
	values := url.Values{}
	for name, value := range query {
		values.Set(name, value)
	}
	u.RawQuery = values.Encode()
	return u, nil
}

// headersOf returns the headers of every request. Those of the user replace all others.
func headersOf(o Options, api API) http.Header {
	h := http.Header{}
	h.Set("Accept", "application/json")
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", cmp.Or(o.UserAgent, "millhand"))
	for name, value := range api.Header {
		h.Set(name, value)
	}
	switch {
	case o.APIKey == "":
	case o.Bearer || api.KeyHeader == "":
		h.Set("Authorization", "Bearer "+o.APIKey)
	default:
		h.Set(api.KeyHeader, o.APIKey)
	}
	for name, value := range o.Header {
		h.Set(name, value)
	}
	return h
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

// Request is a request in the form of its API.
type Request struct {
	Body   Body
	Header map[string]string // in addition to that of the API
	Added  map[string]string // headers that don't replace others
	Output int               // maximum tokens of the response; 0 is no limit
}

// Complete sends a request and reads its response. A response larger than a multiple of
// the request's limit is aborted, because it could be endless. Errors are classified,
// except that of the caller's context; their Lost has the reported usage.
func (l *Endpoint) Complete(ctx context.Context, r Request, a Decoder) (model.Response, error) {
	if l.refuse != nil {
		return model.Response{}, l.refuse
	}
	guarded, guard := watch(ctx, l.header, l.total)
	defer guard.stop()
	resp, received, err := l.complete(guarded, guard, r, bounded{a, tokenLimit * max(cmp.Or(r.Output, guessTokens), minTokens)})
	if err != nil {
		return model.Response{Lost: lost(a, received > 0 && !errors.As(err, new(complaintError)))}, reason(ctx, guarded, err)
	}
	return resp, nil
}

// lost returns the reported usage of an interrupted response; nil if it never
// started, because it is not charged.
func lost(a Decoder, started bool) *money.Charge {
	told := a.Spent()
	if !started && a.Progress() == Waiting && told.Usage == (money.Usage{}) && told.CostUSD == nil {
		return nil
	}
	return &told
}

// complete returns the response, and the number of bytes of its body.
func (l *Endpoint) complete(ctx context.Context, guard *watchdog, r Request, a bounded) (model.Response, int64, error) {
	raw, err := l.exchange(ctx, guard, r) //nolint:bodyclose // the tap closes it
	if err != nil {
		return model.Response{}, 0, err
	}
	received := &tap{ReadCloser: raw.Body, progress: guard.progress}
	defer received.Close()
	resp, err := l.read(guard, raw.Header.Get("Content-Type"), received, a)
	return resp, received.read, err
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

// post returns a request without its body.
func (l *Endpoint) post(ctx context.Context, r Request) *http.Request {
	header := l.headers.Clone()
	for name, value := range r.Header {
		header.Set(name, value)
	}
	for name, value := range r.Added {
		if header.Get(name) == "" {
			header.Set(name, value)
		}
	}
	sent := http.Request{Method: http.MethodPost, URL: l.url, Header: header}
	return sent.WithContext(ctx)
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
	if l.keyHeader == "" || tokenForm.MatchString(key) {
		r.Header.Set("Authorization", "Bearer "+key)
		return
	}
	r.Header.Set(l.keyHeader, key)
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
