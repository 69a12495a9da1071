package wire

import (
	"cmp"
	"context"
	"errors"
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
