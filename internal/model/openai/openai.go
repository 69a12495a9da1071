package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/millhand/millhand/internal/model"
)

// Defaults of the [Options] that may be zero.
const (
	DefaultBaseURL       = "https://api.openai.com/v1"
	DefaultHeaderTimeout = 60 * time.Second
	DefaultIdleTimeout   = 120 * time.Second
)

const (
	usageGrace  = 2 * time.Second        // wait for the usage after the finish reason
	drainGrace  = 100 * time.Millisecond // wait for the end of a whole answer, to keep the connection
	answerLimit = 64 << 20               // bytes of one answer
	faultLimit  = 64 << 10               // bytes of an error's body
	dialTimeout = 30 * time.Second       // TCP and TLS, each
	pingAfter   = 30 * time.Second       // silence on an HTTP/2 connection before it is probed
	idleConns   = 64                     // connections kept for a host: about one for a job
	keepConn    = 90 * time.Second       // how long an unused connection is kept
)

// Options say where a model is and how long to wait for it.
type Options struct {
	BaseURL string            // up to but without "/chat/completions"; "" is DefaultBaseURL
	APIKey  string            // sent as a bearer token; "" sends none
	Model   string            // the provider's id of the model
	Header  map[string]string // added to every request

	HeaderTimeout time.Duration // until the answer begins; 0 is DefaultHeaderTimeout
	IdleTimeout   time.Duration // between two pieces of an answer, keep-alive comments included; 0 is DefaultIdleTimeout

	HTTPClient *http.Client     // nil makes one for this model, which follows no redirects
	Now        func() time.Time // for a Retry-After that is a date; nil leaves such dates alone
}

// New returns the model that o describes. It is safe for concurrent use. There
// is no limit to the time of a whole answer but the context's. A base URL that
// is none fails every request.
func New(o Options) model.Model {
	if o.HTTPClient == nil {
		o.HTTPClient = newHTTPClient()
	}
	base := strings.TrimRight(cmp.Or(o.BaseURL, DefaultBaseURL), "/")
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(o.HTTPClient),
		option.WithMaxRetries(0),
		option.WithAPIKey(o.APIKey),
	}
	for name, value := range o.Header {
		opts = append(opts, option.WithHeader(name, value))
	}
	return &client{
		model:  o.Model,
		header: limit{cmp.Or(o.HeaderTimeout, DefaultHeaderTimeout), false, "no answer began within"},
		idle:   limit{cmp.Or(o.IdleTimeout, DefaultIdleTimeout), true, "the answer stood still for"},
		faults: faults{secrets: secrets(o), now: o.Now},
		refuse: checkBase(base),
		// The service alone, not sdk.NewClient: the latter reads OPENAI_* variables.
		chat: sdk.NewChatCompletionService(opts...),
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

type client struct {
	model  string
	header limit
	idle   limit
	faults faults
	refuse error // what every request fails with, or nil
	chat   sdk.ChatCompletionService
}

// Stream implements [model.Model].
func (c *client) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if c.refuse != nil {
		return model.Response{}, c.refuse
	}
	if emit == nil {
		emit = func(model.Delta) {}
	}
	guarded, guard := watch(ctx, c.header)
	defer guard.stop()
	resp, err := c.complete(guarded, guard, req, emit)
	if err != nil {
		return model.Response{}, reason(ctx, guarded, err)
	}
	return resp, nil
}

func (c *client) complete(ctx context.Context, guard *watchdog, req model.Request, emit func(model.Delta)) (model.Response, error) {
	r, err := c.send(ctx, guard, req)
	if err != nil {
		return model.Response{}, err
	}
	defer r.body.Close()
	return c.read(guard, r, newAnswer(req, emit))
}

// reply is an answer of a status of success, yet to be read.
type reply struct {
	kind string // content type
	body *tap
}

func (c *client) send(ctx context.Context, guard *watchdog, req model.Request) (*reply, error) {
	var raw *http.Response
	_, err := c.chat.New(ctx, c.params(req),
		option.WithJSONSet("stream", true),
		option.WithResponseBodyInto(&raw),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return c.exchange(guard, r, next)
		}))
	var failed *model.Error
	switch {
	case err == nil:
		return &reply{raw.Header.Get("Content-Type"), &tap{ReadCloser: raw.Body, progress: guard.progress}}, nil
	case errors.As(err, &failed):
		return nil, err
	}
	return nil, model.Fail(model.ClassRequest, fmt.Errorf("make the request: %s", c.faults.clean(err.Error())))
}

// exchange carries the request and judges the head of the answer before the
// SDK does, which would read an error's body without bound and lose what is not
// in OpenAI's form.
func (c *client) exchange(guard *watchdog, r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(r)
	if err != nil {
		return nil, c.faults.transport("reach "+r.URL.Host, err)
	}
	guard.expect(c.idle)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	// A body cut short still tells more than none.
	_, _ = body.ReadFrom(io.LimitReader(resp.Body, faultLimit))
	return nil, c.faults.status(resp, body.Bytes())
}

func newHTTPClient() *http.Client {
	return &http.Client{
		// A redirected POST becomes a GET somewhere else; better to say where the
		// endpoint went.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2:   true,
			HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
			MaxIdleConnsPerHost: idleConns,
			IdleConnTimeout:     keepConn,
		},
	}
}
