package forge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/text/printable"
)

const (
	writePause      = time.Second      // between two writes, as GitHub asks for
	requestTimeout  = time.Minute      // of one attempt
	attempts        = 5                // of one request that is lost or fails with 5xx
	firstWait       = time.Second      // before the second attempt; doubles with each
	patience        = 15 * time.Minute // total wait of one request
	maxResponse     = 32 << 20         // bytes
	maxRedirects    = 5
	dialTimeout     = 30 * time.Second // TCP and TLS, each
	idleConnections = 90 * time.Second
)

// Failures that another attempt would have, too.
var (
	errRedirect = errors.New("redirect not followed")
	errTooLarge = fmt.Errorf("response larger than %d bytes", maxResponse)
)

// Call is what the sender has to know of a request of a client library.
type Call struct {
	What  string // for errors
	Repo  Path   // its names are checked, because libraries don't escape them; its owner's token is sent
	Owner string // instead of a repository

	GraphQL bool // errors are in responses with status 200
	Reads   bool // it changes nothing, although it is a POST

	// Applied reports whether a write whose response was lost happened, and stores its
	// result. nil: the request has the same effect when it is repeated.
	Applied func(context.Context) (bool, error)

	page url.Values // query parameters of a page of a list; nil for the first one
}

// Sender sends the requests to one host. It is a RoundTripper for the http.Client of a client library, and
// accepts only requests with a context of [Sender.Do]. It is safe for concurrent use.
type Sender struct {
	Options
	base   *url.URL // of the API, without a slash at its end
	client *http.Client

	writing   chan struct{} // has an element while a write is in progress; guards nextWrite
	nextWrite time.Time
	blocked   chan time.Time // has one element: the end of the current rate limit
}

// NewSender returns a sender. It sends no request.
func NewSender(o Options) (*Sender, error) {
	base, err := baseURL(o.Kind, o.Server)
	if err == nil && o.API != "" {
		base, err = url.Parse(o.API)
	}
	if err != nil {
		return nil, err
	}
	o.Patience = cmp.Or(o.Patience, patience)
	s := &Sender{Options: o, base: base, writing: make(chan struct{}, 1), blocked: make(chan time.Time, 1)}
	s.blocked <- time.Time{}
	transport := &http.Transport{
		Proxy: o.Proxy, ForceAttemptHTTP2: true, IdleConnTimeout: idleConnections,
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
	}
	if loopback(base) {
		transport.Proxy = nil
	}
	s.client = &http.Client{Transport: transport, CheckRedirect: redirect}
	return s, nil
}

// Base returns the URL of the API, without a slash at its end.
func (s *Sender) Base() *url.URL { return s.base }

// Do calls a function of a client library that sends a request with its context, once. The request is
// repeated until it is fulfilled or refused, or the attempts or the patience are exhausted. The error is of
// type [Error], or the context's cause. It is nil if the request was applied without a response: what the library
// returned to the function is zero then.
func (s *Sender) Do(ctx context.Context, c Call, send func(context.Context) error) error {
	_, err := s.do(ctx, c, send)
	return err
}

func (s *Sender) do(ctx context.Context, c Call, send func(context.Context) error) (http.Header, error) {
	e, err := s.exchange(c)
	if err != nil {
		return nil, err
	}
	err = send(context.WithValue(ctx, exchangeKey{}, e))
	if err == nil && e.res != nil && e.method == http.MethodGet && len(e.res.body) == 0 {
		err = io.ErrUnexpectedEOF // libraries return a zero value
	}
	switch {
	case err == nil && e.res != nil:
		return e.res.header, nil
	case e.done:
		return http.Header{}, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case e.failed != nil:
		return nil, e.failed
	case e.res != nil:
		_, err = e.settle(ctx, e.res, fmt.Errorf("invalid JSON in the response: %w", err))
		return http.Header{}, err
	}
	return nil, fmt.Errorf("%s: %w", c.What, err)
}

// exchange returns the exchange of a call whose names are valid.
func (s *Sender) exchange(c Call) (*exchange, error) {
	names := []string{c.Owner}
	if c.Owner == "" {
		c.Owner, names = c.Repo.Owner, []string{c.Repo.Owner, c.Repo.Name}
	}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", c.What, err)
		}
	}
	return &exchange{s: s, Call: c}, nil
}

// checkName checks the name of an owner or a repository.
func checkName(name string) error {
	for s := range strings.SplitSeq(name, "/") {
		if s == "" || s == "." || s == ".." || url.PathEscape(s) != s {
			return fmt.Errorf("invalid name %q", name)
		}
	}
	return nil
}

type exchangeKey struct{}

// errApplied ends a request that was applied without a response.
var errApplied = errors.New("the request was applied")

// RoundTrip implements http.RoundTripper. The response was read, and is below 300.
func (s *Sender) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	var payload []byte
	if req.Body != nil {
		payload, err = io.ReadAll(req.Body)
		req.Body.Close()
	}
	e, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok || e.s != s || req.URL.Host != s.base.Host || req.URL.Scheme != s.base.Scheme {
		return nil, fmt.Errorf("request to %s not sent: it is not one to %s", req.URL.Host, s.base.Host)
	}
	if err == nil {
		e.method, e.header, e.payload, e.target = req.Method, req.Header, payload, paged(req.URL, e.page)
		err = e.send(req.Context())
	}
	switch {
	case err != nil:
		e.failed = err
		return nil, err
	case e.done:
		return nil, errApplied
	}
	return &http.Response{
		Status: http.StatusText(e.res.status), StatusCode: e.res.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: e.res.header, Body: io.NopCloser(bytes.NewReader(e.res.body)), ContentLength: int64(len(e.res.body)), Request: req,
	}, nil
}

// paged returns a URL with the query parameters of a page.
func paged(u *url.URL, page url.Values) string {
	if page == nil {
		return u.String()
	}
	other := *u
	other.RawQuery = joinedQuery(u.Query(), page).Encode()
	return other.String()
}

// redirect follows redirects of a request only to the same server, so that no other one
// gets the token, and only with the method unchanged: some statuses turn a write into a
// read.
func redirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d", errRedirect, maxRedirects)
	case next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host:
		return fmt.Errorf("%w: it leads to another server, %s", errRedirect, next.URL.Host)
	case next.Method != first.Method:
		return fmt.Errorf("%w: the repository was moved; use its new name", errRedirect)
	}
	return nil
}

// exchange is the state of one request that may take several attempts.
type exchange struct {
	s *Sender
	Call
	method, target string
	header         http.Header
	payload        []byte
	token          string
	rejected       bool // a token was replaced
	lost           int  // attempts that were lost or failed with 5xx
	refusals       int  // attempts that were rate limited, or refused for a while
	waited         time.Duration

	res    *response // of success
	done   bool      // it was applied without a response
	failed error
}

// send makes attempts until there is a response of success, or the write is done.
func (e *exchange) send(ctx context.Context) (err error) {
	if e.token, err = e.s.token(ctx, e.Owner); err != nil {
		return fmt.Errorf("%s: %w", e.What, err)
	}
	if e.s.Token == nil { // the library's own, for errors
		e.token = strings.TrimPrefix(e.header.Get("Authorization"), "Bearer ")
	}
	for {
		res, err := e.once(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil && res.status < 300 {
			again, err := e.refusedInside(ctx, res)
			if again && err == nil {
				continue
			}
			e.res = res
			return err
		}
		e.done, err = e.again(ctx, res, err)
		if err != nil || e.done {
			return err
		}
	}
}

func (s *Sender) token(ctx context.Context, owner string) (string, error) {
	if s.Token == nil {
		return "", nil
	}
	return s.Token(ctx, owner)
}

// once makes one attempt, after waiting for the end of a rate limit and the pause
// between writes.
func (e *exchange) once(ctx context.Context) (*response, error) {
	until := <-e.s.blocked
	e.s.blocked <- until
	if err := e.wait(ctx, until.Sub(e.s.Now())); err != nil {
		return nil, err
	}
	if e.method == http.MethodGet || e.Reads {
		return e.roundTrip(ctx)
	}
	select {
	case e.s.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() {
		e.s.nextWrite = e.s.Now().Add(writePause)
		<-e.s.writing
	}()
	if d := e.s.nextWrite.Sub(e.s.Now()); d > 0 { // at most the pause, if the clock was set back
		if err := e.s.Sleep.For(ctx, min(d, writePause)); err != nil {
			return nil, err
		}
	}
	failpoint.Hit(failpoint.ForgeBefore, e.method)
	defer failpoint.Hit(failpoint.ForgeAfter, e.method)
	return e.roundTrip(ctx)
}

func (e *exchange) roundTrip(ctx context.Context) (*response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("timed out after %s", requestTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, e.method, e.target, bytes.NewReader(e.payload))
	if err != nil {
		return nil, err
	}
	req.Header = e.header.Clone()
	req.Header.Set("User-Agent", e.s.UserAgent)
	e.authorize(req)
	res, err := e.s.client.Do(req)
	if err == nil {
		defer res.Body.Close()
		var body []byte
		body, err = io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
		if len(body) > maxResponse {
			return nil, errTooLarge
		}
		if err == nil {
			return &response{res.StatusCode, res.Header, body}, nil
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return nil, err
}

// authorize adds the token to a request.
func (e *exchange) authorize(req *http.Request) {
	switch {
	case e.token == "":
	case e.s.Kind == Gitea:
		req.Header.Set("Authorization", "token "+e.token)
	default:
		req.Header.Set("Authorization", "Bearer "+e.token)
	}
}

// again decides after an attempt without success whether there is another one, and waits
// for it. done: the write had happened.
func (e *exchange) again(ctx context.Context, res *response, cause error) (done bool, err error) {
	if err := new(Error); errors.As(cause, &err) { // the patience ended before the attempt
		return false, err
	}
	if cause != nil && final(cause) {
		return false, e.fail(nil, ErrUnreachable, cause.Error(), time.Time{})
	}
	if res != nil && res.status < 500 {
		if res.status == http.StatusUnauthorized && e.s.Reject != nil && !e.rejected && e.token != "" {
			return false, e.renew(ctx, res)
		}
		return false, e.refused(ctx, res)
	}
	if e.lost++; e.lost >= attempts {
		return e.settle(ctx, res, cause)
	}
	d := firstWait << (e.lost - 1)
	d = d/2 + rand.N(d/2)
	text := "connection failed"
	if res != nil {
		text = fmt.Sprintf("status %d", res.status)
		if asked, ok := retryAfter(res.header, e.s.Now()); ok {
			d = max(d, asked)
		}
	} else if cause != nil {
		text = e.clean(cause.Error())
	}
	e.note(fmt.Sprintf("%s: %s; retrying", e.What, text))
	if err := e.wait(ctx, d); err != nil {
		return false, err
	}
	if e.Applied == nil {
		return false, nil
	}
	return e.Applied(ctx)
}

// refused waits after a response below 500 that has another attempt, or returns its error.
func (e *exchange) refused(ctx context.Context, res *response) error {
	wait, all, again := res.delay(e.s.Now(), e.refusals)
	if !again {
		return e.fail(res, kindOf(res.status), "", time.Time{})
	}
	e.refusals++
	if all {
		return e.pause(res, wait)
	}
	e.note(fmt.Sprintf("%s: %s; retrying in %s", e.What, e.clean(message(res.body)), wait))
	return e.wait(ctx, wait)
}

// refusedInside is refused for a response of GraphQL, whose status is a success. It reports whether
// there is another attempt.
func (e *exchange) refusedInside(ctx context.Context, res *response) (bool, error) {
	if !e.GraphQL {
		return false, nil
	}
	if _, _, again := res.delay(e.s.Now(), e.refusals); !again {
		return false, nil
	}
	return true, e.refused(ctx, res)
}

// settle ends a request without another attempt after a response that was lost or
// invalid. It is a success if the write happened.
func (e *exchange) settle(ctx context.Context, res *response, cause error) (bool, error) {
	if e.Applied != nil {
		if done, err := e.Applied(ctx); done && err == nil {
			return true, nil
		}
	}
	text := ""
	if cause != nil {
		text = cause.Error()
	}
	return false, e.fail(res, ErrUnreachable, text, time.Time{})
}

// renew replaces a token that was refused. It fails if no other one is available.
func (e *exchange) renew(ctx context.Context, res *response) error {
	e.rejected = true
	e.s.Reject(ctx, e.Owner, e.token)
	token, err := e.s.token(ctx, e.Owner)
	if err != nil {
		return fmt.Errorf("%s: %w", e.What, err)
	}
	if token == e.token {
		return e.fail(res, ErrDenied, "", time.Time{})
	}
	e.token = token
	return nil
}

// pause waits for the end of a rate limit, which holds up all other requests, too.
func (e *exchange) pause(res *response, d time.Duration) error {
	until := e.s.Now().Add(d)
	if last := <-e.s.blocked; last.After(until) {
		until = last
	}
	e.s.blocked <- until
	if e.waited+d > e.s.Patience {
		return e.fail(res, ErrLimited, "", until)
	}
	e.note(fmt.Sprintf("%s: rate limited by %s; retrying in %s", e.What, e.s.base.Host, d.Round(time.Second)))
	return nil // once waits
}

// wait waits within the patience.
func (e *exchange) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if e.waited += d; e.waited > e.s.Patience {
		return e.fail(nil, ErrLimited, fmt.Sprintf("not waiting for more than %s", e.s.Patience), e.s.Now().Add(d))
	}
	return e.s.Sleep.For(ctx, d)
}

func (e *exchange) note(text string) {
	if e.s.Notify != nil {
		e.s.Notify(text)
	}
}

// fail returns the error of the request. An empty text stands for that of the response.
func (e *exchange) fail(res *response, kind error, text string, retryAt time.Time) error {
	failed := &Error{What: e.What, Host: e.s.base.Host, RetryAt: retryAt, Anonymous: e.token == "", kind: kind}
	if res != nil {
		failed.Status = res.status
		if text == "" {
			text = message(res.body)
			if at := singleSignOn(res.header); at != "" {
				text += "; authorize the token at " + at
			} else if e.token != "" || res.status != http.StatusUnauthorized {
				text = strings.Join(append([]string{text}, remedies(res.status, text)...), "; ")
			}
		}
	}
	failed.Message = e.clean(text)
	return failed
}

// clean makes a text of the network one line without the token.
func (e *exchange) clean(text string) string {
	if e.token != "" {
		text = strings.ReplaceAll(text, e.token, "***")
	}
	return printable.Line(text, maxMessage)
}

// final reports whether a failure of the network is permanent.
func final(err error) bool {
	var unknown *net.DNSError
	var certificate *tls.CertificateVerificationError
	return errors.Is(err, errRedirect) || errors.Is(err, errTooLarge) || errors.As(err, &certificate) || errors.As(err, &unknown) && unknown.IsNotFound
}
