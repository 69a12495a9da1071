package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	sessionHeader  = "Mcp-Session-Id"
	revisionHeader = "Mcp-Protocol-Version"
	eventHeader    = "Last-Event-ID"
)

// httpConn is a connection to a server over HTTP (the transport Streamable HTTP): each message
// to the server is a POST, whose response has the messages to the client as JSON or as a stream
// of events. The SDK's transport is not used, because one invalid message, or an error of
// the optional stream, ends its connection, and messages have no maximum size. It implements the SDK's Transport, too.
type httpConn struct {
	remote Remote
	agent  string // User-Agent
	client *http.Client
	inbox  *inbox
	in     chan jsonrpc.Message

	life    context.Context //nolint:containedctx // of the connection; its end interrupts all requests
	end     context.CancelFunc
	group   sync.WaitGroup
	closing sync.Once

	mu         sync.Mutex
	initialize string // id of the request initialize
	session    string // id of the session; "" if the server has none
	revision   string // of the protocol
	closed     bool
	failed     error
}

func newHTTPConn(ctx context.Context, r Remote, agent string, box *inbox) *httpConn {
	life, end := context.WithCancel(ctx)
	return &httpConn{
		remote: r, agent: agent, inbox: box, in: make(chan jsonrpc.Message), life: life, end: end,
		client: &http.Client{CheckRedirect: redirect, Transport: &http.Transport{
			Proxy: r.Proxy, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
		}},
	}
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

// Connect implements the SDK's Transport.
func (c *httpConn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements the SDK's Connection.
func (c *httpConn) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

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
	c.closing.Do(func() {
		c.mu.Lock()
		c.closed = true
		ended := c.session == "" || errors.Is(c.failed, errSession)
		c.mu.Unlock()
		c.end()
		c.group.Wait()
		defer c.client.CloseIdleConnections()
		if ended {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), deleteTimeout)
		defer cancel()
		if resp, err := c.do(ctx, http.MethodDelete, nil, ""); err == nil {
			resp.Body.Close()
		}
	})
	return nil
}

// start runs a function until the connection is closed, which waits for it.
func (c *httpConn) start(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.group.Go(f)
	}
}

// Read returns the next message.
func (c *httpConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-c.in:
		return message, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.life.Done():
		return nil, io.EOF
	}
}

// Write sends a message. The failure of a request is its response; that of another message
// has no effect on those that follow.
func (c *httpConn) Write(ctx context.Context, message jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	c.inbox.note(message)
	request, ok := message.(*jsonrpc.Request)
	if ok && request.IsCall() {
		c.start(func() { c.request(ctx, request, text) })
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	ctx, leave := c.within(ctx)
	defer leave()
	if resp, err := c.do(ctx, http.MethodPost, text, ""); err == nil {
		resp.Body.Close()
	}
	if ok && request.Method == "notifications/initialized" {
		c.start(c.listen)
	}
	return nil
}

// within returns a context that ends with the connection, too.
func (c *httpConn) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// request sends a request of the SDK, and delivers what the server responds. ctx is that of the request.
func (c *httpConn) request(ctx context.Context, r *jsonrpc.Request, text []byte) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	if r.Method == "initialize" {
		c.mu.Lock()
		c.initialize = idText(r.ID)
		c.mu.Unlock()
	}
	err := c.exchange(ctx, r, text)
	// Before the response, because the next request must not use this connection.
	switch {
	case errors.Is(err, errExpired): // requests that the server accepted before go on
		c.fail(errSession)
	case errors.Is(err, errMessageSize):
		c.fail(errMessageSize)
		defer c.end()
	}
	if err != nil && ctx.Err() == nil {
		c.deliver(ctx, &jsonrpc.Response{ID: r.ID, Error: err})
	}
}

// exchange sends a request and delivers all messages until its response.
func (c *httpConn) exchange(ctx context.Context, r *jsonrpc.Request, text []byte) error {
	resp, err := c.do(ctx, http.MethodPost, text, "")
	if err != nil {
		return &lostError{err}
	}
	defer func() { resp.Body.Close() }()
	if err := c.check(resp, r.Method); err != nil {
		return err
	}
	if err := c.setSession(r, resp.Header.Get(sessionHeader)); err != nil {
		return err
	}
	switch kind := mediaType(resp); kind {
	case "application/json":
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
		switch {
		case err != nil:
			return &lostError{err}
		case len(body) > maxMessage:
			return &lostError{errMessageSize}
		case !c.receive(ctx, bytes.TrimSpace(body), &r.ID):
			return &lostError{errors.New("the body of the response is not a message")}
		}
		return nil
	case "text/event-stream":
		return c.stream(ctx, resp, r.ID)
	case "":
		return &lostError{errors.New("the response has no message")}
	default:
		return &lostError{fmt.Errorf("the response has the type %.100q; check the URL", kind)}
	}
}

// stream delivers the messages of a stream until the response to a request. A stream that
// ends earlier is resumed if its events have ids, and each time more have arrived.
func (c *httpConn) stream(ctx context.Context, resp *http.Response, id jsonrpc.ID) error {
	last := ""
	for {
		s := &events{last: last}
		found, err := c.read(ctx, s, resp.Body, &id)
		resp.Body.Close()
		switch {
		case found:
			return nil
		case errors.Is(err, errMessageSize):
			return &lostError{err}
		case s.last == last:
			return &lostError{errors.New("the connection ended before the response")}
		}
		last = s.last
		if clock.Wait(ctx, cmp.Or(s.retry, firstDelay)) != nil {
			return ctx.Err()
		}
		if resp, err = c.do(ctx, http.MethodGet, nil, last); err != nil {
			return &lostError{err}
		}
		if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
			resp.Body.Close()
			return &lostError{errors.New("the connection ended before the response, and can't be resumed")}
		}
	}
}

// listen delivers the messages that the server sends by itself, such as announcements of other
// tools. A server need not support it.
func (c *httpConn) listen() {
	s := &events{}
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		resp, err := c.do(c.life, http.MethodGet, nil, s.last)
		if err == nil {
			if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
				resp.Body.Close()
				return
			}
			before := s.count
			_, err = c.read(c.life, s, resp.Body, nil)
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
	firstDelay = time.Second // before a stream is opened again
	maxDelay   = time.Minute
)

// read delivers the messages of a stream until its end, or until the response to a request.
func (c *httpConn) read(ctx context.Context, s *events, body io.Reader, id *jsonrpc.ID) (found bool, err error) {
	s.read(body)
	for {
		data, err := s.next()
		if err != nil {
			return false, err
		}
		if c.receive(ctx, data, id) {
			return true, nil
		}
	}
}

// receive delivers the message in a text, and reports whether it is the response to a request.
func (c *httpConn) receive(ctx context.Context, text []byte, id *jsonrpc.ID) bool {
	message, refusal := c.inbox.take(text)
	if refusal != nil {
		c.Write(ctx, refusal) //nolint:errcheck // the server can't be told
	}
	if message == nil {
		return false
	}
	response, ok := message.(*jsonrpc.Response)
	if ok {
		c.setRevision(response)
	}
	c.deliver(ctx, message)
	return ok && id != nil && idText(response.ID) == idText(*id)
}

// deliver gives a message to the SDK.
func (c *httpConn) deliver(ctx context.Context, message jsonrpc.Message) {
	select {
	case c.in <- message:
	case <-ctx.Done():
	}
}

// setSession stores the session that a server starts with its response to initialize.
func (c *httpConn) setSession(r *jsonrpc.Request, id string) error {
	if r.Method != "initialize" || id == "" {
		return nil
	}
	if len(id) > maxSessionID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the server's session ID is invalid")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
	return nil
}

// setRevision stores the revision of the protocol in the response to initialize, because all
// further requests state it.
func (c *httpConn) setRevision(response *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision != "" || idText(response.ID) != c.initialize {
		return
	}
	var result struct{ ProtocolVersion string }
	if json.Unmarshal(response.Result, &result) == nil && len(result.ProtocolVersion) == len(protocol) {
		c.revision = result.ProtocolVersion
	}
}

// do sends an HTTP request and returns the response, whose body the caller closes. Errors don't
// contain the URL.
func (c *httpConn) do(ctx context.Context, method string, body []byte, last string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.remote.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	for name, value := range c.remote.Header {
		r.Header.Set(name, value)
	}
	c.mu.Lock()
	own := map[string]string{"User-Agent": c.agent, sessionHeader: c.session, revisionHeader: c.revision, eventHeader: last}
	c.mu.Unlock()
	switch method {
	case http.MethodPost:
		own["Content-Type"], own["Accept"] = "application/json", "application/json, text/event-stream"
	case http.MethodGet:
		own["Accept"] = "text/event-stream"
	}
	for name, value := range own {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := c.client.Do(r)
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
