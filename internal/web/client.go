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

	"github.com/millhand/millhand/internal/reach"
)

// The bounds of one fetch.
const (
	MaxBody      = 5 << 20 // bytes of an answer, decompressed
	MaxRedirects = 5
	dialTime     = 10 * time.Second
	maxHeader    = 256 << 10
)

// agent is how millhand names itself to servers.
const agent = "Mozilla/5.0 (compatible; millhand; +https://github.com/millhand/millhand)"

// ErrTooLarge is the cause when an answer is larger than [MaxBody].
var ErrTooLarge = fmt.Errorf("the answer is larger than %d MiB", MaxBody>>20)

// Refused is the error when a request was not made because of where it leads:
// to an address that the Reach does not cover, or by a redirect that the caller
// did not want.
type Refused struct {
	URL    string
	Reason string
}

// Error says what was refused and why.
func (e *Refused) Error() string { return fmt.Sprintf("%s is not fetched: %s", e.URL, e.Reason) }

// StatusError is the error when a server answered with another status than
// success.
type StatusError struct {
	URL    string
	Code   int
	Status string // code and words
}

// Error says what the server answered.
func (e *StatusError) Error() string { return fmt.Sprintf("%s answered %s", e.URL, e.Status) }

// Client fetches pages. Its zero value reaches nothing.
type Client struct {
	Reach    Reach
	Resolver *net.Resolver // nil: the system's
	// Redirect is asked about the target of each redirect, besides the Reach;
	// its error ends the fetch and can be found in that of Get. It may be nil.
	Redirect func(target string) error
}

// Page is what a server answered.
type Page struct {
	URL         string // where it was in the end, after redirects
	ContentType string // as the server said, "" if it said nothing
	Body        []byte // decompressed
}

// Get fetches a URL, following redirects, until ctx ends. accept is what the
// caller prefers, as the header of that name. The error is a [*Refused], a
// [*StatusError] or [ErrTooLarge] where it is one of these, and says in words
// what else went wrong.
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
	client := http.Client{CheckRedirect: c.redirect, Transport: &http.Transport{
		DialContext: c.dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: dialTime,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return Page{}, failed(ctx, address, err)
	}
	defer resp.Body.Close()
	return receive(ctx, resp)
}

// receive reads an answer.
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
	return Page{URL: at, ContentType: resp.Header.Get("Content-Type"), Body: body}, nil
}

// redirect decides whether a redirect is followed.
func (c Client) redirect(req *http.Request, via []*http.Request) error {
	target := req.URL.String()
	if len(via) > MaxRedirects {
		return fmt.Errorf("more than %d redirects, the last to %s", MaxRedirects, target)
	}
	if len(target) > maxURL {
		return &Refused{target[:maxURL], "the target of a redirect is too long"}
	}
	if reason := c.Reach.refusal(req.URL); reason != "" {
		return &Refused{target, reason}
	}
	req.Header.Del("Referer")
	if c.Redirect != nil {
		return c.Redirect(target)
	}
	return nil
}

// dial connects, after a look at the address that the host's name led to.
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

// failed puts a failed request in words.
func failed(ctx context.Context, address string, err error) error {
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		return refused
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fetch %s: %w", address, context.Cause(ctx))
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		if dns.IsNotFound {
			return fmt.Errorf("fetch %s: there is no host %s", address, dns.Name)
		}
		return fmt.Errorf("fetch %s: the host %s can't be looked up", address, dns.Name)
	}
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		err = ue.Err
	}
	return fmt.Errorf("fetch %s: %w", address, err)
}

// MediaType is what kind of thing the page is, as the server says or, where it
// says nothing, as the first bytes show.
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
