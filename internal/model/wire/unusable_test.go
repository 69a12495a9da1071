package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// certificate returns a self-signed certificate for a name, and the pool that trusts it.
func certificate(t *testing.T, name string, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	if ip := net.ParseIP(name); ip != nil {
		form.IPAddresses = []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// counted counts the connections that a server accepts.
type counted struct {
	net.Listener
	n atomic.Int32
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// serve starts a server, with TLS unless conf is nil.
func serve(t *testing.T, conf *tls.Config, h http.Handler) (host string, connections *atomic.Int32) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	listener := &counted{Listener: server.Listener}
	server.Listener = listener
	if server.TLS = conf; conf != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), &listener.n
}

// closing accepts TLS, and closes the connection of everybody else without a word.
func closing(t *testing.T, cert tls.Certificate) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			first := make([]byte, 1)
			if n, _ := conn.Read(first); n == 1 && first[0] == 22 { // a handshake
				_ = tls.Server(&begun{conn, first}, &tls.Config{Certificates: []tls.Certificate{cert}}).HandshakeContext(t.Context())
			}
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// begun is a connection of which the first bytes were read.
type begun struct {
	net.Conn
	read []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.read) > 0 {
		n := copy(p, b.read)
		b.read = b.read[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// undecoded is the decoder of responses that never come.
type undecoded struct{ Decoder[struct{}] }

func (undecoded) Progress() Progress  { return Waiting }
func (undecoded) Spent() money.Charge { return money.Charge{} }

// unread is the stream of such a response.
type unread struct{ error }

func (unread) Next() bool        { return false }
func (unread) Current() struct{} { return struct{}{} }
func (u unread) Err() error      { return u.error }
func (unread) Close() error      { return nil }

// post sends a request to an endpoint as an SDK does.
func post(t *testing.T, l *Endpoint) error {
	t.Helper()
	start := func(ctx context.Context, carry Middleware) Stream[struct{}] {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Base+"chat", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			return unread{err}
		}
		resp, err := carry(r, l.Client.Do)
		if err == nil {
			resp.Body.Close()
		}
		return unread{err}
	}
	_, err := Complete(t.Context(), l, Request{Said: Conversation{Name: "messages"}}, start, undecoded{})
	return err
}

func proxyAt(t *testing.T, address string) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return http.ProxyURL(u)
}

// An endpoint that can't be used as configured is one attempt, and its error has the fix.
func TestUnusableEndpoints(t *testing.T) {
	valid, trusted := certificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	expired, trustedExpired := certificate(t, "model.test", time.Now().Add(-time.Hour))
	here := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	answering := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	plain, _ := serve(t, nil, answering(200))
	strange, _ := serve(t, here(valid), answering(200))
	old := here(valid)
	old.MaxVersion = tls.VersionTLS11 //nolint:gosec // what old servers have
	old.MinVersion = tls.VersionTLS10 //nolint:gosec // what old servers have
	ancient, _ := serve(t, old, answering(200))
	past, _ := serve(t, here(expired), answering(200))
	mutual := here(valid)
	mutual.ClientAuth, mutual.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
	clients, _ := serve(t, mutual, answering(200))
	locked, tunnels := serve(t, nil, answering(407))
	forbidding, _ := serve(t, nil, answering(403))
	tests := []struct {
		name, base string
		trust      *x509.CertPool
		dial       string // the address of model.test
		proxy      func(*http.Request) (*url.URL, error)
		fix        string
	}{
		{"an untrusted certificate", "https://" + strange, nil, "", nil, "set SSL_CERT_FILE"},
		{"another host's certificate", "https://model.test", trusted, strange, nil, "use the host name in the certificate"},
		{"an expired certificate", "https://model.test", trustedExpired, past, nil, "renew the certificate of the server, or correct the clock"},
		{"old TLS", "https://" + ancient, nil, "", nil, "TLS 1.2 or later"},
		{"TLS with certificates of clients", "https://127.0.0.1", trusted, clients, nil, "without a certificate of the client"},
		{"https at an http port", "https://" + plain, nil, "", nil, "use http:// instead of https://"},
		{"http at an https port that responds", "http://" + strange, nil, "", nil, "use https:// instead of http://"},
		{"http at an https port that closes", "http://" + closing(t, valid), nil, "", nil, "use https:// instead of http://"},
		{"a proxy with credentials", "https://model.test", nil, "", proxyAt(t, "http://"+locked), "put the credentials into HTTPS_PROXY: http://user:password@host:port"},
		{"a proxy with credentials, without a tunnel", "http://model.test", nil, "", proxyAt(t, "http://"+locked), "put the credentials into HTTP_PROXY"},
		{"a proxy that forbids the host", "https://model.test", nil, "", proxyAt(t, "http://"+forbidding), "allow the host in the proxy's configuration"},
		{"an unknown proxy", "https://model.test", nil, "", proxyAt(t, "http://me:secret-pw@proxy.invalid:1"), "check the host of the proxy in HTTPS_PROXY"},
		{"https to an http proxy", "https://model.test", nil, "", proxyAt(t, "https://"+plain), "the proxy does not speak TLS"},
		{"an untrusted proxy", "https://model.test", nil, "", proxyAt(t, "https://"+strange), "if you trust the proxy, set SSL_CERT_FILE"},
		{"an invalid proxy", "https://model.test", nil, "", func(*http.Request) (*url.URL, error) { return nil, errors.New("invalid: me:secret-pw@") }, "set HTTPS_PROXY to a URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := NewHTTPClient(test.proxy)
			transport := client.Transport.(*http.Transport) //nolint:forcetypeassert // set by NewHTTPClient
			transport.TLSClientConfig = &tls.Config{RootCAs: test.trust}
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				switch host, _, _ := net.SplitHostPort(address); {
				case test.dial != "":
					address = test.dial
				case host == "proxy.invalid":
					return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			l := NewEndpoint(Options{BaseURL: test.base, HTTPClient: client}, API{})
			err := post(t, l)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Class != model.ClassRequest || !failed.Unusable || !strings.Contains(err.Error(), test.fix) || strings.Contains(err.Error(), "secret-pw") {
				t.Errorf("got %v, want an unusable endpoint with the fix %q", err, test.fix)
			}
		})
	}
	if n := tunnels.Load(); n != 2 {
		t.Errorf("%d connections to the locked proxy, want one for each of 2 requests", n)
	}
}

// What passes by itself is not the configuration's fault.
func TestTemporaryFaultsAreUsable(t *testing.T) {
	torn, connections := serve(t, nil, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	down, _ := serve(t, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	refusing := httptest.NewServer(http.NotFoundHandler())
	refusing.Close()
	for name, o := range map[string]Options{
		"a closed connection":          {BaseURL: "http://" + torn},
		"a refused connection":         {BaseURL: refusing.URL},
		"a proxy that is down":         {BaseURL: "https://model.test", Proxy: proxyAt(t, refusing.URL)},
		"a proxy without a connection": {BaseURL: "https://model.test", Proxy: proxyAt(t, "http://"+down)},
		"a proxy that closes":          {BaseURL: "https://model.test", Proxy: proxyAt(t, "http://"+torn)},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewEndpoint(o, API{})
			before := connections.Load()
			for range 3 {
				err := post(t, l)
				if e := (*model.Error)(nil); !errors.As(err, &e) || e.Class != model.ClassUnavailable || e.Unusable {
					t.Errorf("got %v, want an unavailable provider", err)
				}
			}
			if n := connections.Load() - before; name == "a closed connection" && n != 4 {
				t.Errorf("%d connections, want 3 and one that asked for TLS", n)
			}
		})
	}
}
