package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/permission/reach"
)

// Limits of one fetch.
const (
	MaxBody      = 5 << 20 // bytes of a response body, decompressed
	MaxRedirects = 5
	dialTime     = 10 * time.Second
	maxHeader    = 256 << 10
)

// agent is the User-Agent header.
const agent = "Mozilla/5.0 (compatible; millhand; +https://github.com/millhand/millhand)"

// ErrTooLarge is the error for a response larger than [MaxBody].
var ErrTooLarge = fmt.Errorf("response exceeds %d MiB", MaxBody>>20)

// Refused is the error for a request that was not sent because the Reach does
// not allow its address, or the caller rejected a redirect.
type Refused struct {
	URL    string
	Reason string
}

// Error implements error.
func (e *Refused) Error() string { return fmt.Sprintf("fetch of %s refused: %s", e.URL, e.Reason) }

// StatusError is the error for a response with a status other than success.
type StatusError struct {
	URL    string
	Code   int
	Status string // code and text
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s returned HTTP status %s", e.URL, e.Status)
}

// StatusOf returns the HTTP status that caused an error, 0 if none did.
func StatusOf(err error) int {
	if s := (*StatusError)(nil); errors.As(err, &s) {
		return s.Code
	}
	return 0
}

// Client fetches pages. The zero value can reach nothing.
type Client struct {
	Reach    Reach
	Resolver *net.Resolver // nil: the system's
}

// Page is a fetched page, or a redirect to one.
type Page struct {
	Redirect    string // what to fetch instead; "" for a page
	URL         string
	Status      int    // HTTP status code, 2xx
	ContentType string // from the response header; may be ""
	Body        []byte // decompressed
}

// Get fetches a URL, until ctx is done. It follows no redirects: the caller decides about each, and
// follows at most [MaxRedirects]. accept is the Accept header. The error may wrap a [*Refused], a
// [*StatusError] or [ErrTooLarge].
func (c Client) Get(ctx context.Context, address, accept string) (Page, error) {
	u, err := parse(address)
	if err != nil {
		return Page{}, &Refused{address, err.Error()}
	}
	if reason := c.Reach.refusal(u); reason != "" {
		return Page{}, &Refused{address, reason}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Page{}, fmt.Errorf("fetch %s: %w", address, err)
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", accept)
	redirect := ""
	client := http.Client{CheckRedirect: func(next *http.Request, _ []*http.Request) (err error) {
		if redirect, err = c.redirect(next.URL); err != nil {
			return err
		}
		return http.ErrUseLastResponse
	}, Transport: &http.Transport{
		DialContext: c.dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: dialTime,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return Page{}, failed(ctx, address, err)
	}
	defer resp.Body.Close()
	if redirect != "" {
		return Page{Redirect: redirect, URL: address, Status: resp.StatusCode}, nil
	}
	return receive(ctx, resp)
}

// receive reads a response.
func receive(ctx context.Context, resp *http.Response) (Page, error) {
	at := resp.Request.URL.String()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Page{}, &StatusError{at, resp.StatusCode, resp.Status}
	}
	if resp.ContentLength > MaxBody {
		return Page{}, fmt.Errorf("fetch %s: %w", at, ErrTooLarge)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	switch {
	case err != nil:
		return Page{}, failed(ctx, at, err)
	case len(body) > MaxBody:
		return Page{}, fmt.Errorf("fetch %s: %w", at, ErrTooLarge)
	}
	return Page{URL: at, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: body}, nil
}

// redirect returns what a redirect leads to, unless that can't be reached.
func (c Client) redirect(to *url.URL) (target string, err error) {
	target = to.String()
	if len(target) > maxURL {
		return "", &Refused{target[:maxURL], "redirect URL too long"}
	}
	if reason := c.Reach.refusal(to); reason != "" {
		return "", &Refused{target, reason}
	}
	return target, nil
}

// dial connects after checking the address that the host name resolved to.
func (c Client) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	if name, ok := reach.Canonical(host); ok {
		host = name
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTime, Resolver: c.Resolver, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil {
			err = c.Reach.allowed(host, number, at.Addr())
		}
		if err != nil {
			return &Refused{host, err.Error()}
		}
		return nil
	}}
	return d.DialContext(ctx, network, hostport)
}

// failed returns the error for a failed request.
func failed(ctx context.Context, address string, err error) error {
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		return refused
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fetch %s: %w", address, context.Cause(ctx))
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		if dns.IsNotFound {
			return fmt.Errorf("fetch %s: host not found: %s", address, dns.Name)
		}
		return fmt.Errorf("fetch %s: can't resolve host %s", address, dns.Name)
	}
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		err = ue.Err
	}
	return fmt.Errorf("fetch %s: %w", address, err)
}

// MediaType returns the page's media type, from the server or, if missing, from
// the first bytes.
func (p Page) MediaType() string {
	if kind, _, err := mime.ParseMediaType(p.ContentType); err == nil {
		return kind
	}
	kind, _, err := mime.ParseMediaType(http.DetectContentType(p.Body))
	if err != nil {
		return "application/octet-stream"
	}
	return kind
}
