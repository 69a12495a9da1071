package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// tokenUser is the user name that goes with a token unless the caller knows
// better: GitHub and Gitea take any, and this is the one that GitHub documents.
const tokenUser = "x-access-token"

// httpLink speaks to a service by two requests.
type httpLink struct {
	ctx     context.Context //nolint:containedctx // a link belongs to one operation
	client  *http.Client
	service string
	base    string // without user and password
	user    string
	secret  string
	header  string // instead of user and secret
	bodies  []io.Closer
}

func newHTTPLink(ctx context.Context, at address, auth Auth, service string) (*httpLink, error) {
	l := &httpLink{ctx: ctx, service: service, base: at.scheme + "://" + at.host + at.path, user: at.user, secret: at.password}
	if auth.Token != "" {
		l.user, l.secret = cmp.Or(auth.User, tokenUser), auth.Token
	}
	if l.secret == "" {
		l.header = auth.Header
	}
	if l.secret+l.header != "" && at.scheme == "http" && !at.loopback() {
		return nil, fmt.Errorf("%w: they are not sent over http, only over https", ErrAuth)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	if at.loopback() {
		transport.Proxy = nil
	}
	l.client = &http.Client{Transport: transport, CheckRedirect: l.redirect}
	return l, nil
}

// redirect follows a server to another place of its own only: nobody else is to
// see the credentials or to answer in its stead.
func (l *httpLink) redirect(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	upgrade := first.Scheme == "http" && next.URL.Scheme == "https" && first.Hostname() == next.URL.Hostname()
	switch {
	case len(via) > 5:
		return errors.New("too many redirects")
	case next.Method != http.MethodGet:
		return errors.New("it redirects a request that holds data")
	case !upgrade && (first.Scheme != next.URL.Scheme || first.Host != next.URL.Host):
		return fmt.Errorf("it redirects to another server (%s), use that one's URL", next.URL.Host)
	}
	return nil
}

func (l *httpLink) greeting() (io.Reader, error) {
	return l.do(http.MethodGet, "/info/refs?service="+l.service, nil, 0)
}

func (l *httpLink) exchange(request io.Reader, size int64) (io.Reader, error) {
	return l.do(http.MethodPost, "/"+l.service, request, size)
}

// do sends a request for a place below the base and returns the answer's body.
func (l *httpLink) do(method, place string, body io.Reader, size int64) (io.Reader, error) {
	req, err := http.NewRequestWithContext(l.ctx, method, l.base+place, body)
	if err != nil {
		return nil, errNotURL
	}
	kind := "application/x-" + l.service + "-advertisement"
	if body != nil {
		kind = "application/x-" + l.service + "-result"
		req.ContentLength = size
		req.Header.Set("Content-Type", "application/x-"+l.service+"-request")
		req.Header.Set("Accept", kind)
	}
	req.Header.Set("User-Agent", "git/2.0 (millhand)") // some servers show git's answers to git only
	switch {
	case l.secret != "":
		req.SetBasicAuth(l.user, l.secret)
	case l.header != "":
		req.Header.Set("Authorization", l.header)
	}
	res, err := l.client.Do(req) //nolint:bodyclose // close does it
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	l.bodies = append(l.bodies, res.Body)
	if res.StatusCode != http.StatusOK {
		return nil, l.refused(res)
	}
	if got := res.Header.Get("Content-Type"); got != kind {
		return nil, fmt.Errorf("%w: what answers is not git's smart protocol (its answer is of type %q)", ErrNotFound, oneLine(got))
	}
	if body == nil {
		final := *res.Request.URL // after redirects
		final.User, final.RawQuery = nil, ""
		l.base = strings.TrimSuffix(final.String(), "/info/refs")
	}
	return res.Body, nil
}

// refused makes an error of a status.
func (l *httpLink) refused(res *http.Response) error {
	kind := ErrUnreachable
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind = ErrAuth
	case code == http.StatusNotFound || code == http.StatusGone:
		kind = ErrNotFound
	case code == http.StatusRequestEntityTooLarge && l.service == receivePack:
		kind = ErrRejected
	}
	var body excerpt
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		_, _ = io.Copy(&body, io.LimitReader(res.Body, mostWords)) // the status is what counts
	}
	if text := body.String(); text != "" {
		return fmt.Errorf("%w: status %d, it says %q", kind, res.StatusCode, text)
	}
	return fmt.Errorf("%w: status %d", kind, res.StatusCode)
}

func (l *httpLink) words() string { return "" }

func (l *httpLink) close() {
	for _, b := range l.bodies {
		_ = b.Close()
	}
	l.client.CloseIdleConnections()
}
