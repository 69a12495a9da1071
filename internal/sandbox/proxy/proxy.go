package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Timeouts, and the maximum size of a request's header.
const (
	headerTime = 30 * time.Second
	dialTime   = 30 * time.Second
	headerMax  = 64 << 10
	maxReason  = 500
)

// Attempt is one connection that a command requested.
type Attempt struct {
	Method string     // CONNECT, or the method of a plain request
	Host   string     // as requested, in lower case; the complete target if it is invalid
	Port   int        // 0 if the target is invalid
	Addr   netip.Addr // the dialled address; not valid if none was dialled
	Denied bool       // by Allowed, or because the target is invalid
	Err    string     // why the connection failed; "" if it succeeded
	Cause  error      // the error of Allowed; nil if it denied nothing
}

// Server is a proxy. Its fields are set before Serve, which may be called for
// several listeners.
type Server struct {
	// Allowed returns why a host is not allowed, nil if it is. It is called with an
	// address that is not valid before the name is resolved, and then for each
	// address before it is dialled.
	Allowed func(host string, port int, ip netip.Addr) error
	// Closed means that Allowed allows nothing. A plain request is then not answered: its
	// client finds no server, as without a network, not one with an error.
	Closed bool
	// Switch closes the proxy for good while it serves; nil never does.
	Switch *Switch
	// Record is called with each attempt after its decision, possibly concurrently.
	Record func(Attempt)
	// Lookup resolves a name; nil is the machine's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	open atomic.Int64 // connections of all listeners
}

// Serve serves a listener until it is closed. It then closes all connections, and
// returns when their goroutines have ended.
func (s *Server) Serve(ln net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	p := &serving{Server: s, ctx: ctx}
	p.plain = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.Out.URL.Host // always the host that was checked
		},
		Transport: &http.Transport{DialContext: p.dialPlain, DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: 5 * time.Minute},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if s.Closed {
				panic(http.ErrAbortHandler)
			}
			writeError(w, err)
		},
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: headerTime, MaxHeaderBytes: headerMax, BaseContext: func(net.Listener) context.Context { return ctx }}
	err := server.Serve(limited{ln, &s.open})
	cancel()
	p.leave.Lock()
	p.closed = true
	p.leave.Unlock()
	err = errors.Join(ignoreClosed(err), server.Close())
	p.requests.Wait()
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// serving is one listener of a Server.
type serving struct {
	*Server
	ctx   context.Context //nolint:containedctx // ends with the listener; hijacked connections outlive their request's context
	plain *httputil.ReverseProxy

	requests sync.WaitGroup
	leave    sync.Mutex // guards closed, after which no request starts
	closed   bool
}

// begin counts a request, and returns false after the listener was closed.
func (p *serving) begin() bool {
	p.leave.Lock()
	defer p.leave.Unlock()
	if !p.closed {
		p.requests.Add(1)
	}
	return !p.closed
}

// ServeHTTP handles one request to the proxy.
func (p *serving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		return
	}
	defer p.requests.Done()
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "" && r.URL.User == nil:
		p.plain.ServeHTTP(w, r)
	default:
		p.Record(Attempt{Method: r.Method, Host: r.RequestURI, Denied: true, Err: "not a request to a proxy"})
		http.Error(w, "this is a proxy: it accepts CONNECT, and plain HTTP with an absolute URL", http.StatusBadRequest)
	}
}

// connect establishes a tunnel.
func (p *serving) connect(w http.ResponseWriter, r *http.Request) {
	far, err := p.dial(p.ctx, r.Method, r.RequestURI, 0) //nolint:contextcheck // a tunnel outlives its request
	if err != nil {
		refuse(w, err)
		return
	}
	defer far.Close() //nolint:errcheck // all data was copied
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "no tunnel over this connection", http.StatusHTTPVersionNotSupported)
		return
	}
	near, early, err := hijacker.Hijack()
	if err != nil {
		return // the connection is gone
	}
	defer near.Close() //nolint:errcheck // all data was copied
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	stop := context.AfterFunc(p.ctx, func() { //nolint:contextcheck // see above
		near.Close() //nolint:errcheck // all data was copied
		far.Close()  //nolint:errcheck // all data was copied
	})
	defer stop()
	join(near, early, far)
}

// join copies in both directions until both have ended, starting with buffered data.
func join(near net.Conn, early io.Reader, far net.Conn) {
	var up sync.WaitGroup
	up.Go(func() {
		io.Copy(far, early) //nolint:errcheck // the end of either connection ends the tunnel
		closeWrite(far)
	})
	io.Copy(near, far) //nolint:errcheck // see above
	closeWrite(near)
	up.Wait()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite() //nolint:errcheck // fails only if it is closed
	}
}

func (p *serving) dialPlain(ctx context.Context, _, addr string) (net.Conn, error) {
	return p.dial(ctx, "HTTP", addr, 80)
}

// deniedError is the reason that an attempt was denied.
type deniedError struct{ why error }

func (e deniedError) Error() string { return e.why.Error() }

// writeError responds with the error of a connection.
func writeError(w http.ResponseWriter, err error) {
	http.Error(w, "millhand's proxy: "+err.Error(), statusOf(err))
}

// statusOf returns the status of an error: whether the host is denied or unreachable.
func statusOf(err error) int {
	if denied := (deniedError{}); errors.As(err, &denied) {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// refuse responds to CONNECT with an error. Clients show no body then, but most show the
// status line, so it has the reason.
func refuse(w http.ResponseWriter, err error) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		writeError(w, err)
		return
	}
	near, _, gone := hijacker.Hijack()
	if gone != nil {
		return
	}
	defer near.Close() //nolint:errcheck // nothing else is written
	reason := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, err.Error())
	code := statusOf(err)
	fmt.Fprintf(near, "HTTP/1.1 %d %s (millhand: %s)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code, http.StatusText(code), reason[:min(len(reason), maxReason)])
}

// dial connects to a target if it is allowed, and records the attempt.
func (p *serving) dial(ctx context.Context, method, target string, fallback int) (net.Conn, error) {
	host, port, err := Target(target, fallback)
	if err != nil {
		p.Record(Attempt{Method: method, Host: target, Denied: true, Err: err.Error()})
		return nil, deniedError{err}
	}
	a := Attempt{Method: method, Host: host, Port: port}
	conn, err := p.reach(ctx, &a)
	if err != nil {
		a.Err = err.Error()
		denied := deniedError{}
		if a.Denied = errors.As(err, &denied); a.Denied {
			a.Cause = denied.why
		}
	}
	p.Record(a)
	return conn, err
}

// reach resolves a host and connects to the first of its addresses that is allowed and
// accepts.
func (p *serving) reach(ctx context.Context, a *Attempt) (net.Conn, error) {
	if err := p.allowed(a.Host, a.Port, netip.Addr{}); err != nil {
		return nil, deniedError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	addrs, err := p.addresses(ctx, a.Host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", a.Host, err)
	}
	var failures []error
	for _, ip := range addrs {
		if err := p.allowed(a.Host, a.Port, ip); err != nil {
			failures = append(failures, deniedError{err})
			continue
		}
		a.Addr = ip
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(a.Port)))
		if err == nil {
			return p.Switch.watch(conn), nil
		}
		failures = append(failures, err)
	}
	if len(failures) == 0 {
		return nil, fmt.Errorf("look up %s: no addresses found", a.Host)
	}
	return nil, errors.Join(failures...)
}

// allowed returns why a host is not allowed; nil if it is.
func (p *serving) allowed(host string, port int, ip netip.Addr) error {
	if err := p.Switch.Reason(); err != nil {
		return err
	}
	return p.Allowed(host, port, ip)
}

func (p *serving) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	if p.Lookup != nil {
		return p.Lookup(ctx, host)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}
