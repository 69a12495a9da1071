package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/millhand/millhand/internal/proc/keys"
)

// tokenUser is the default user name for a token: GitHub and Gitea accept any,
// and GitHub documents this one.
const tokenUser = "x-access-token"

// httpTransport uses a service in two requests. Like git, it sends credentials
// only after a 401 response, so a public server never gets them.
type httpTransport struct {
	ctx      context.Context //nolint:containedctx // a transport belongs to one operation
	client   *http.Client
	service  string
	version  string // of the protocol; "" for 0
	server   string // scheme and host that credentials may be sent to
	base     string // without user and password
	user     string
	secret   string
	keys     *keys.Source // provides the secret; nil for one that stays the same
	header   string       // instead of user and secret
	hint     string       // added to authentication errors
	asked    bool         // the server responded with 401
	replaced bool         // it did so again, and a key was rejected
	probed   bool         // it has responded to a POST request
	bodies   []io.Closer
}

func newHTTPTransport(ctx context.Context, at Address, remote Repo, service string) (*httpTransport, error) {
	auth := remote.Auth
	server := at.Scheme + "://" + at.Host
	l := &httpTransport{
		ctx: ctx, service: service, server: server, base: server + at.Path, user: at.user, secret: at.Password,
		hint: auth.Hint, keys: auth.Keys,
	}
	if service == uploadPack {
		l.version = wantVersion2
	}
	if auth.Token != "" || auth.Keys != nil {
		l.user, l.secret = cmp.Or(auth.User, tokenUser), auth.Token
	}
	if l.secret == "" && l.keys == nil {
		l.header = auth.Header
	}
	if l.hasCredentials() && at.Scheme == "http" && !at.loopback() {
		return nil, fmt.Errorf("%w: credentials are sent over https only, not over http", ErrAuth)
	}
	base := &http.Transport{Proxy: remote.Proxy, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	if at.loopback() {
		base.Proxy = nil
	}
	l.client = &http.Client{Transport: base, CheckRedirect: l.redirect}
	return l, nil
}

// redirect follows redirects only within the same server, so that no other
// server gets the credentials or can impersonate it. After a redirect from http
// to https, on loopback, they are not sent.
func (l *httpTransport) redirect(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	upgrade := first.Scheme == "http" && next.URL.Scheme == "https" && first.Hostname() == next.URL.Hostname()
	switch {
	case len(via) > 5:
		return errors.New("too many redirects")
	case next.Method != http.MethodGet:
		return errors.New("redirect of a POST request")
	case upgrade:
		next.Header.Del("Authorization")
	case first.Scheme != next.URL.Scheme || first.Host != next.URL.Host:
		return fmt.Errorf("redirect to another server (%s); use its URL instead", next.URL.Host)
	}
	return nil
}

func (l *httpTransport) greeting() (io.Reader, error) {
	path := "/info/refs?service=" + l.service
	res, err := l.send(http.MethodGet, path, nil, 0) //nolint:bodyclose // close does it
	for err == nil && l.authorize(res) {
		res, err = l.send(http.MethodGet, path, nil, 0) //nolint:bodyclose // as above
	}
	if err != nil {
		return nil, err
	}
	body, err := l.accepted(res, "advertisement")
	if err != nil {
		return nil, err
	}
	final := *res.Request.URL // after redirects
	final.User, final.RawQuery = nil, ""
	l.base = strings.TrimSuffix(final.String(), "/info/refs")
	in := bufio.NewReader(body)
	if !isVersion2(in) {
		l.version = ""
	}
	return in, nil
}

// ask sends a small request again if the server then requests credentials, so that the next one needs no probe.
func (l *httpTransport) ask(request []byte) (io.Reader, error) {
	l.probed = true
	for {
		res, err := l.send(http.MethodPost, "/"+l.service, bytes.NewReader(request), int64(len(request))) //nolint:bodyclose // close does it
		if err != nil {
			return nil, err
		}
		if !l.authorize(res) {
			return l.accepted(res, "result")
		}
	}
}

// exchange first probes with an empty request, as git does, if it has
// credentials that the server has not requested yet, or that may have expired: the
// actual request can be large. It is sent again if a key expires between both.
func (l *httpTransport) exchange(open func() io.Reader, size int64) (io.Reader, error) {
	for again := !l.probed && l.hasCredentials() && (!l.asked || l.keys != nil); again; {
		res, err := l.send(http.MethodPost, "/"+l.service, bytes.NewReader(pktline.FlushPkt), int64(len(pktline.FlushPkt))) //nolint:bodyclose // close does it
		if err != nil {
			return nil, err
		}
		again = l.authorize(res) && l.keys != nil // other statuses are handled by the actual request
	}
	for {
		res, err := l.send(http.MethodPost, "/"+l.service, open(), size) //nolint:bodyclose // close does it
		if err != nil {
			return nil, err
		}
		if l.keys == nil || !l.authorize(res) {
			return l.accepted(res, "result")
		}
	}
}

func (l *httpTransport) hasCredentials() bool { return l.keys != nil || l.secret+l.header != "" }

// authorize reports whether the server requests credentials that were not sent
// yet. All further requests carry them. A key that it rejects is replaced once.
func (l *httpTransport) authorize(res *http.Response) bool {
	switch {
	case res.StatusCode != http.StatusUnauthorized || !l.hasCredentials():
		return false
	case !l.asked:
		l.asked = true
		return true
	case l.keys == nil || l.replaced:
		return false
	}
	l.keys.Reject(l.ctx, l.secret)
	l.replaced = true
	return true
}

// credentials returns the user and the secret of the next request.
func (l *httpTransport) credentials() (user, secret string, err error) {
	if l.keys != nil {
		l.secret, err = l.keys.Key(l.ctx)
		if later := (*keys.Unavailable)(nil); errors.As(err, &later) {
			return "", "", l.authError(fmt.Errorf("%w: %w", ErrUnreachable, err))
		}
		if err != nil {
			return "", "", l.authError(fmt.Errorf("%w: %w", ErrAuth, err))
		}
	}
	return l.user, l.secret, nil
}

// authError adds the hint to an authentication error.
func (l *httpTransport) authError(err error) error {
	if l.hint == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, l.hint)
}

// send sends a request for a path below the base.
func (l *httpTransport) send(method, path string, body io.Reader, size int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(l.ctx, method, l.base+path, body)
	if err != nil {
		return nil, errNotURL
	}
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", "application/x-"+l.service+"-request")
		req.Header.Set("Accept", "application/x-"+l.service+"-result")
	}
	req.Header.Set("User-Agent", "git/2.0 (millhand)") // some servers respond to git's user agent only
	if l.version != "" {
		req.Header.Set("Git-Protocol", l.version)
	}
	switch {
	case !l.asked || req.URL.Scheme+"://"+req.URL.Host != l.server:
	case l.header != "":
		req.Header.Set("Authorization", l.header)
	case l.hasCredentials():
		user, secret, err := l.credentials()
		if err != nil {
			return nil, err
		}
		req.SetBasicAuth(user, secret)
	}
	res, err := l.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	l.bodies = append(l.bodies, res.Body)
	return res, nil
}

// accepted returns the body of a response with the expected content type.
func (l *httpTransport) accepted(res *http.Response, kind string) (io.Reader, error) {
	if res.StatusCode != http.StatusOK {
		return nil, l.refused(res)
	}
	if got := res.Header.Get("Content-Type"); got != "application/x-"+l.service+"-"+kind {
		return nil, fmt.Errorf("%w: server does not speak git's smart HTTP protocol (content type %q)", ErrNotFound, oneLine(got))
	}
	return res.Body, nil
}

// refused converts an HTTP status to an error.
func (l *httpTransport) refused(res *http.Response) error {
	kind := ErrUnreachable
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind = ErrAuth
	case code == http.StatusNotFound || code == http.StatusGone:
		kind = ErrNotFound
	case code == http.StatusRequestEntityTooLarge && l.service == receivePack:
		kind = ErrRejected
	}
	var body limitedBuffer
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		_, _ = io.Copy(&body, io.LimitReader(res.Body, maxMessages)) // best effort: the status is sufficient
	}
	err := fmt.Errorf("%w: status %d", kind, res.StatusCode)
	text := body.String()
	if l.keys != nil && l.secret != "" { // it may repeat the token
		text = strings.ReplaceAll(text, l.secret, "***")
	}
	if text != "" {
		err = fmt.Errorf("%w, server: %q", err, text)
	}
	if errors.Is(kind, ErrAuth) {
		return l.authError(err)
	}
	return err
}

func (l *httpTransport) messages() string { return "" }

func (l *httpTransport) close() {
	for _, b := range l.bodies {
		_ = b.Close()
	}
	l.client.CloseIdleConnections()
}
