package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/model"
)

// unusable is the error of an endpoint that can't be used as configured. A retry would fail,
// too, and so would every other request.
func unusable(status int, text, fix string) error {
	return &model.Error{Class: model.ClassRequest, Status: status, RetryAfter: -1, Unusable: true, Err: errors.New(text + "; " + fix)}
}

// The remedies that more than one failure has.
const (
	useHTTP  = "the server does not speak TLS: use http:// instead of https:// in its URL, or another port"
	useHTTPS = "the server speaks TLS: use https:// instead of http:// in its URL"
)

// permanentTLS matches the failures of handshakes, by either end, that a retry doesn't change.
// Their types are internal to crypto/tls.
var permanentTLS = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`tls: (protocol version not supported|handshake failure|insufficient security level|inappropriate fallback` +
		`|unrecognized name|access denied|no application protocol|certificate required|(bad|unsupported|revoked|expired|unknown) certificate` +
		`|server selected unsupported|server chose an unconfigured|server does not support|no supported versions)`)
})

// remedy returns what to change after a failure of the connection to to that lasts until the
// configuration changes; "" for other failures.
func remedy(to *url.URL, err error) string {
	var refusal *tunnelError
	var version tls.RecordHeaderError
	server, atProxy := "the server", viaProxy(err)
	if atProxy {
		server = "the proxy"
	}
	switch {
	case errors.As(err, &refusal):
		return refusal.remedy()
	case errors.Is(err, errProxyURL):
		return "set " + proxyVariable(to) + " to a URL such as http://user:password@host:port"
	case atProxy && unknownHost(err):
		return "check the host of the proxy in " + proxyVariable(to)
	case strings.Contains(err.Error(), "socks connect") && strings.Contains(err.Error(), "authentication"):
		return proxyCredentials(to)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return certificateRemedy(server, err)
	case errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &version):
		return strings.Replace(useHTTP, "the server", server, 1)
	case strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`): // a TLS alert
		return useHTTPS
	case permanentTLS().MatchString(err.Error()):
		return server + " and millhand have no TLS version, cipher or certificate in common: " + server + " must support TLS 1.2 or later, without a certificate of the client"
	}
	return ""
}

// certificateRemedy returns what to change after a certificate was rejected.
func certificateRemedy(server string, err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.HostnameError)):
		return "use the host name in the certificate of " + server + " in its URL"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the certificate of " + server + ", or correct the clock of this machine"
	}
	return "if you trust " + server + ", set SSL_CERT_FILE to a PEM file with the certificate of its authority"
}

func unknownHost(err error) bool {
	var lookup *net.DNSError
	return errors.As(err, &lookup) && lookup.IsNotFound
}

// viaProxy reports whether the connection to the proxy failed.
func viaProxy(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "proxyconnect"
}

// proxyVariable is the environment variable with the proxy of requests to a URL.
func proxyVariable(to *url.URL) string {
	return strings.ToUpper(to.Scheme) + "_PROXY"
}

func proxyCredentials(to *url.URL) string {
	return "put the credentials into " + proxyVariable(to) + ": http://user:password@host:port"
}

var errProxyURL = errors.New("invalid URL of the proxy")

// checkedProxy returns proxy with errors that don't quote the URL, which has a password.
func checkedProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	if proxy == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := proxy(r)
		if err != nil {
			return nil, errProxyURL
		}
		return u, nil
	}
}

// tunnelError is the refusal of a proxy to connect to a host.
type tunnelError struct{ status int }

func (e *tunnelError) Error() string {
	return fmt.Sprintf("the proxy answered HTTP %d %s", e.status, http.StatusText(e.status))
}

// remedy returns what to change, "" if the proxy may connect later.
func (e *tunnelError) remedy() string {
	switch class := classOfStatus(e.status); {
	case e.status == http.StatusProxyAuthRequired:
		return proxyCredentials(&url.URL{Scheme: "https"})
	case class == model.ClassUnavailable || class == model.ClassRate:
		return ""
	}
	return "allow the host in the proxy's configuration, or add it to NO_PROXY"
}

// checkTunnel returns the error of a proxy's response to CONNECT.
func checkTunnel(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &tunnelError{resp.StatusCode}
}

// plainToTLS matches how servers respond to HTTP requests at a port for HTTPS: Go, nginx, Apache and
// others, all with status 400.
var plainToTLS = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)http request .{0,20}https (server|port)|plain http to an? (ssl|tls)|requires (ssl|tls)|combination of host and port requires tls`)
})

// refusedBefore returns what to change after the response of a proxy, or of a server that expects
// TLS, instead of the model's; "" for other responses.
func refusedBefore(resp *http.Response, text string) string {
	switch {
	case resp.StatusCode == http.StatusProxyAuthRequired && resp.Request != nil:
		return proxyCredentials(resp.Request.URL)
	case resp.StatusCode == http.StatusBadRequest && resp.Request != nil && resp.Request.URL.Scheme == "http" && plainToTLS().MatchString(text):
		return useHTTPS
	}
	return ""
}

// tlsCheck limits the time of [Endpoint.speaksTLS].
const tlsCheck = 5 * time.Second

// unreachable is the error of a request without a response.
func (l *Endpoint) unreachable(r *http.Request, err error) error {
	doing := "reach " + r.URL.Host
	cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) // of a request that was not yet written
	if r.URL.Scheme == "http" && cut && !l.answered.Swap(true) && l.speaksTLS(r.Context()) {
		return unusable(0, doing+": "+l.Faults.clean(errors.Unwrap(err).Error()), useHTTPS)
	}
	failed := l.Faults.transport(doing, l.url, err)
	if e := (*model.Error)(nil); errors.As(failed, &e) && unknownHost(err) && !l.answered.Load() {
		e.Brief = true // more likely misspelt than down
	}
	return failed
}

// speaksTLS reports whether the server of a plain http endpoint expects TLS: then many close the
// connection without a word, which looks like an outage.
func (l *Endpoint) speaksTLS(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, tlsCheck)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+l.url.Host+"/", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := l.Client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err == nil || errors.As(err, new(*tls.CertificateVerificationError))
}
