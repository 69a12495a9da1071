package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millhand/millhand/internal/proc/clock"
)

// Remote is a server that is used over HTTP.
type Remote struct {
	URL    string
	Header map[string]string                     // of each request
	Proxy  func(*http.Request) (*url.URL, error) // nil for none
	OAuth  *OAuth                                // nil for none
}

const (
	dialTimeout   = 30 * time.Second // TCP and TLS, each
	sendTimeout   = 10 * time.Second // of a message that has no response
	deleteTimeout = 2 * time.Second
	maxHeader     = 64 << 10
	maxFault      = 64 << 10 // of the body of an error
	maxSessionID  = 1024
	maxRedirects  = 5
)

// The headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	eventHeader   = "Last-Event-ID"
)

// The types of bodies.
const (
	jsonType   = "application/json"
	eventsType = "text/event-stream"
)

// httpConn is a connection to a server over HTTP (the transport Streamable HTTP). It is that of the
// SDK's StreamableClientTransport, with the sessions, headers and resumption of the protocol. It sends
// requests as the RoundTripper of the SDK's client, because one invalid message, or the
// end of the optional stream, ends the SDK's connection, and a server that does not respond to the request for
// that stream delays it for ever (TestWhatTheTransportOfTheSDKLoses): the SDK gets only responses without such faults.
type httpConn struct {
	sdk.Connection
	remote Remote
	agent  string // User-Agent
	client *http.Client
	tokens *authorizer // nil without OAuth
	inbox  *inbox

	life        context.Context //nolint:containedctx // of the connection; its end interrupts all requests
	end         context.CancelFunc
	initialized context.Context //nolint:containedctx // ends when the server may send messages by itself
	ready       context.CancelFunc
	group       sync.WaitGroup

	mu     sync.Mutex
	closed bool
	failed error
}

func newHTTPConn(ctx context.Context, r Remote, agent string, box *inbox) (c *httpConn, err error) {
	if _, err := url.Parse(r.URL); err != nil {
		return nil, errors.New("invalid URL")
	}
	c = &httpConn{remote: r, agent: agent, inbox: box, client: &http.Client{CheckRedirect: redirect, Transport: &http.Transport{
		Proxy: r.Proxy, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
	}}}
	c.tokens = newAuthorizer(r.OAuth, c.client.Transport)
	c.life, c.end = context.WithCancel(ctx)
	c.initialized, c.ready = context.WithCancel(c.life)
	c.Connection, err = (&sdk.StreamableClientTransport{Endpoint: r.URL, HTTPClient: &http.Client{Transport: c}, MaxEventSize: -1}).Connect(ctx)
	return c, err
}

// redirect follows redirects within the origin that repeat the request. Others are errors:
// another origin must get neither keys nor arguments.
func redirect(to *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || to.Method != first.Method || origin(to.URL) != origin(first.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// origin returns the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Connect implements the SDK's Transport. It returns the connection of the SDK itself, to which the
// SDK gives the revision of the protocol by a method that can't be forwarded.
func (c *httpConn) Connect(context.Context) (sdk.Connection, error) { return c.Connection, nil }

func (c *httpConn) works() bool { return c.cause() == nil && c.life.Err() == nil }

func (c *httpConn) log() []byte { return nil }

func (c *httpConn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// fail stores why the connection is not used any more. Its owner closes it.
func (c *httpConn) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = why
	}
}

// Close ends all requests and the session.
func (c *httpConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.Connection.Close() //nolint:errcheck // the server may have ended the session
	c.group.Wait()
	c.client.CloseIdleConnections()
	return nil
}

// enter reports whether the connection is open. If so, Close waits for a call of c.group.Done, and for what
// the group gets before.
func (c *httpConn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.group.Add(1)
	}
	return !c.closed
}

// within returns a context that ends with the connection, too.
func (c *httpConn) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// RoundTrip sends a request of the SDK. The response is always one that the SDK accepts; the error is that of
// one request, and the connection can be used further.
func (c *httpConn) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		if !errors.Is(c.cause(), errSession) { // the server has not ended it
			c.send(r.Context(), r, nil, deleteTimeout)
		}
		return response(r, http.StatusNoContent, "", http.NoBody), nil
	}
	if !c.enter() {
		return nil, &statusError{"the connection is closed"}
	}
	defer c.group.Done()
	if id, last, ok := strings.Cut(r.Header.Get(eventHeader), "/"); ok {
		return c.resume(r, id, last), nil
	}
	if r.Method == http.MethodGet {
		messages, out := io.Pipe()
		c.group.Go(func() {
			<-c.initialized.Done()
			c.listen(r, out)
			<-c.life.Done() // an earlier end of the stream would end the SDK's connection
			out.Close()     //nolint:errcheck // always nil
		})
		return response(r, http.StatusOK, eventsType, messages), nil
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	message, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, err
	}
	request, ok := message.(*jsonrpc.Request)
	switch {
	case ok && request.IsCall():
		return c.request(r, request, text)
	case ok && request.Method == "notifications/initialized": // before the requests that follow
		ctx, leave := c.within(r.Context())
		defer leave()
		c.send(ctx, r, text, sendTimeout)
		c.ready()
	default:
		own := r.Clone(context.WithoutCancel(r.Context()))
		c.group.Go(func() { c.send(c.life, own, text, sendTimeout) })
	}
	return response(r, http.StatusAccepted, "", http.NoBody), nil
}

// response returns a response for the SDK.
func response(r *http.Request, code int, kind string, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: body, ContentLength: -1, Request: r}
}

// send sends a message that has no response. Its failure has no effect on those that follow.
func (c *httpConn) send(ctx context.Context, r *http.Request, text []byte, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if resp, err := c.do(ctx, r, text, ""); err == nil {
		resp.Body.Close()
	}
}

// request sends a request, and returns the messages until its response.
func (c *httpConn) request(r *http.Request, request *jsonrpc.Request, text []byte) (*http.Response, error) {
	c.inbox.note(request)
	s := c.newStream(r.Context(), idText(request.ID))
	resp, err := s.exchange(r, request.Method, text)
	// Before the response, because the next request must not use this connection.
	switch {
	case errors.Is(err, errExpired): // requests that the server accepted before go on
		c.fail(errSession)
	case errors.Is(err, errMessageSize):
		c.fail(errMessageSize)
	}
	if err != nil {
		s.Close() //nolint:errcheck // always nil
	}
	return resp, err
}

// resume returns the messages after an event in the stream of a request.
func (c *httpConn) resume(r *http.Request, id, last string) *http.Response {
	s := c.newStream(r.Context(), id)
	s.from, s.last = last, last
	resp, err := c.do(s.ctx, r, nil, last) //nolint:contextcheck // it is made of that of the request
	switch {
	case err != nil:
		s.lose(err)
	case resp.StatusCode != http.StatusOK || mediaType(resp) != eventsType:
		resp.Body.Close()
		s.lose(errors.New("the connection ended before the response, and can't be resumed"))
	default:
		s.open(resp.Body)
	}
	return response(r, http.StatusOK, eventsType, s)
}

// listen writes the messages that the server sends by itself, such as announcements of other
// tools. A server need not support it.
func (c *httpConn) listen(r *http.Request, out io.Writer) {
	s := c.newStream(c.life, "")
	defer s.leave()
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		resp, err := c.do(c.life, r, nil, s.last)
		if err == nil {
			if resp.StatusCode != http.StatusOK || mediaType(resp) != eventsType {
				resp.Body.Close()
				return
			}
			before := s.count
			s.open(resp.Body)
			_, err = io.Copy(out, s)
			resp.Body.Close()
			if errors.Is(err, errMessageSize) {
				return
			}
			if s.count > before {
				delay = firstDelay
			}
		}
		if clock.Wait(c.life, max(delay, s.retry)) != nil {
			return
		}
	}
}

const (
	firstDelay = time.Second // before that stream is opened again
	maxDelay   = time.Minute
)

// do sends an HTTP request like r and returns the response, whose body the caller closes. If the server rejects the
// token, it gets another one, once.
func (c *httpConn) do(ctx context.Context, r *http.Request, body []byte, last string) (*http.Response, error) {
	token, err := c.tokens.token(ctx, "")
	if err != nil {
		return nil, err
	}
	resp, err := c.try(ctx, r, body, last, token)
	if token == "" || err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	resp.Body.Close()
	if token, err = c.tokens.token(ctx, token); err != nil {
		return nil, err
	}
	return c.try(ctx, r, body, last, token)
}

// try sends an HTTP request once. Errors don't contain the URL.
func (c *httpConn) try(ctx context.Context, r *http.Request, body []byte, last, token string) (*http.Response, error) {
	own, err := http.NewRequestWithContext(ctx, r.Method, c.remote.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range c.remote.Header {
		own.Header.Set(name, value)
	}
	maps.Copy(own.Header, r.Header)
	own.Header.Set("User-Agent", c.agent)
	if own.Header.Del(eventHeader); last != "" {
		own.Header.Set(eventHeader, last)
	}
	if token != "" {
		own.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.client.Do(own)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return resp, err
}

func mediaType(r *http.Response) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return r.Header.Get("Content-Type")
	}
	return kind
}
