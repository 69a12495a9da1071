package wire

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/proc/keys"
)

// API is what the requests of an API have in common.
type API struct {
	BaseURL   string // the default
	KeyHeader string // the API's own header for keys that are not tokens; "" for none
	Typed     bool   // events have a type
}

// Endpoint is the way to one model for the client of an SDK. It is safe for concurrent use.
type Endpoint struct {
	Base   string // URL, with a slash at its end
	Client *http.Client
	Faults Faults

	api    API
	url    *url.URL     // Base
	keys   *keys.Source // nil for a key that the SDK sends, or none
	ready  func(context.Context) error
	reject func(*http.Response) bool
	header limit
	idle   limit
	quiet  time.Duration
	total  time.Duration
	refuse error // the error of every request, or nil

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
		Client: client,
		Faults: Faults{secrets: secrets(o), now: o.Now},
		api:    api,
		keys:   o.Keys,
		ready:  o.Ready,
		reject: o.Rejected,
		header: limit{cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout), false, "no response within"},
		idle:   limit{cmp.Or(o.IdleTimeout, DefaultIdleTimeout), true, "response stalled: no data for"},
		quiet:  cmp.Or(o.QuietTimeout, max(DefaultQuietTimeout, o.IdleTimeout)),
		total:  cmp.Or(o.TotalTimeout, DefaultTotalTimeout),
	}
	l.url, l.refuse = address(cmp.Or(o.BaseURL, api.BaseURL))
	if l.refuse == nil {
		l.Base = l.url.String()
	}
	return l
}

// address returns a base URL without its query. Errors don't quote it: it may contain a password.
func address(base string) (*url.URL, error) {
	base, _, _ = strings.Cut(base, "#")
	base, _, _ = strings.Cut(base, "?")
	u, err := url.Parse(strings.TrimRight(base, "/") + "/")
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, model.Fail(model.ClassRequest, errors.New("make the request: the base URL is not of the form https://host/path"))
	}
	return u, nil
}

// Decoder decodes a response incrementally. Its errors are created by [Faults].
type Decoder[T any] interface {
	// Event adds an event of a stream.
	Event(event T) error
	// End notes that the end of the stream was announced.
	End()
	// Body decodes a response that was not streamed.
	Body(data []byte) error
	// Failed reads the usage that was sent with an error: an event, or the body of a response.
	Failed(data []byte)
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

// Request is a request besides what the SDK sends.
type Request struct {
	Said   Conversation
	Added  map[string]string // headers that don't replace others
	Output int               // maximum tokens of the response; 0 is no limit
}

// Middleware is a middleware of the SDKs.
type Middleware = func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error)

// Stream is a stream of the SDKs.
type Stream[T any] interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}

// Complete sends a request and reads its response. start sends it by a service of the SDK,
// which must use the middleware. A response larger than a multiple of the request's limit is
// aborted, because it could be endless. Errors are classified, except that of the caller's
// context; their Lost has the reported usage.
func Complete[T any](ctx context.Context, l *Endpoint, r Request, start func(context.Context, Middleware) Stream[T], a Decoder[T]) (model.Response, error) {
	if l.refuse != nil {
		return model.Response{}, l.refuse
	}
	guarded, guard := watch(ctx, l.header, l.total)
	defer guard.stop()
	c := &attempt{endpoint: l, guard: guard, request: r, decoder: a, max: tokenLimit * max(cmp.Or(r.Output, guessTokens), minTokens)}
	defer c.close()
	stream := start(guarded, c.carry)
	defer stream.Close() //nolint:errcheck // read to its end, or not needed any more
	resp, err := finish(c, stream, a)
	if err != nil {
		return model.Response{Lost: c.lost(!errors.As(err, new(complaintError)))}, reason(ctx, guarded, err)
	}
	return resp, nil
}

// noKey is the error of a request without a key.
func (l *Endpoint) noKey(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	class := model.ClassAuth
	switch {
	case proc.IsMachine(err):
		class = model.ClassMachine
	case errors.As(err, new(*keys.Unavailable)):
		class = model.ClassUnavailable
	}
	return model.Fail(class, errors.New(l.Faults.clean(err.Error())))
}

// tokenForm matches keys that are access tokens: JSON web tokens, and those of Google and
// Anthropic. They are sent as bearer tokens, also where keys have a header of their own.
var tokenForm = regexp.MustCompile(`^(eyJ|ya29\.|sk-ant-oat)`)

func (l *Endpoint) authorize(r *http.Request, key string) {
	if l.api.KeyHeader == "" || tokenForm.MatchString(key) {
		r.Header.Set("Authorization", "Bearer "+key)
		return
	}
	r.Header.Set(l.api.KeyHeader, key)
}
