package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// serve starts a server on loopback and returns its URL and its host and port.
func serve(t *testing.T, handler http.HandlerFunc) (address, host string) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s.URL, u.Host
}

func get(t *testing.T, c Client, address string) (Page, error) {
	t.Helper()
	page, err := c.Get(t.Context(), address, "*/*")
	for n := 0; err == nil && page.Redirect != "" && n < MaxRedirects; n++ {
		page, err = c.Get(t.Context(), page.Redirect, "*/*")
	}
	return page, err
}

func TestGetFetchesAllowedHosts(t *testing.T) {
	var header http.Header
	at, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "hello")
	})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // nothing listens there
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	page, err := get(t, Client{Reach: Reach{Hosts: []string{host}}}, at+"/x?y=1")
	if err != nil || string(page.Body) != "hello" || page.URL != at+"/x?y=1" || page.MediaType() != "text/plain" {
		t.Errorf("got %+v, %v", page, err)
	}
	for _, name := range []string{"Cookie", "Authorization", "Referer"} {
		if header.Get(name) != "" {
			t.Errorf("sent %s: %s", name, header.Get(name))
		}
	}
	var refused *Refused
	for _, reach := range []Reach{{}, {Public: true}, {Hosts: []string{"127.0.0.1:1"}}, {Hosts: []string{"localhost"}}} {
		if _, err := get(t, Client{Reach: reach}, at); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", reach, err)
		}
	}
}

// resolver looks names up with a server that answers every time with the next
// of the addresses.
func resolver(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		answerNames(conn, addresses)
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answerNames(conn net.PacketConn, addresses []string) {
	buf := make([]byte, 4096)
	for asked := 0; ; {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) == 0 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Additionals = true, nil
		ip := net.ParseIP(addresses[min(asked, len(addresses)-1)])
		switch v4 := ip.To4(); {
		case q.Type == dnsmessage.TypeA && v4 != nil:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte(v4)}})
			asked++
		case q.Type == dnsmessage.TypeAAAA && v4 == nil:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip)}})
			asked++
		}
		if out, err := m.Pack(); err == nil {
			conn.WriteTo(out, from)
		}
	}
}

// What counts is the address that is dialled: a public name may lead anywhere.
func TestNameWithPrivateAddressIsNotDialed(t *testing.T) {
	var hits atomic.Int64
	at, host := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := strings.Cut(host, ":")
	for _, address := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "::1", "fd00:ec2::254", "fe80::1", "2002:7f00:1::", "64:ff9b::7f00:1"} {
		c := Client{Reach: Reach{Public: true, Hosts: []string{"github", "*.example.com"}}, Resolver: resolver(t, address)}
		for _, name := range []string{"www.example.com", "example.org", "github.com"} {
			var refused *Refused
			if _, err := get(t, c, "http://"+name+":"+port+"/"); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "not a public address") {
				t.Errorf("%s at %s: %v", name, address, err)
			}
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%s was reached %d times", at, hits.Load())
	}
	// Not even a host that was named leads to this machine or to a cloud's secrets.
	for _, address := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fd00:ec2::254", "0.0.0.0", "fe80::1", "64:ff9b::7f00:1"} {
		c := Client{Reach: Reach{Hosts: []string{"api.example.com"}}, Resolver: resolver(t, address)}
		var refused *Refused
		if _, err := get(t, c, "http://api.example.com:"+port+"/"); !errors.As(err, &refused) || hits.Load() != 0 {
			t.Errorf("a named host at %s: %v", address, err)
		}
	}
	c := Client{Reach: Reach{Hosts: []string{"api.localhost"}}, Resolver: resolver(t, "127.0.0.1")}
	if _, err := get(t, c, "http://api.localhost:"+port+"/"); err != nil || hits.Load() != 1 {
		t.Errorf("a named host of this machine is not reached: %v", err)
	}
}

// The first look-up leads to where the name may lead, the second elsewhere.
func TestDNSRebindingIsDetected(t *testing.T) {
	var hits atomic.Int64
	at, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.Redirect(w, r, "http://rebound.example.com:"+r.URL.Query().Get("port")+"/", http.StatusFound)
	})
	_, port, _ := strings.Cut(host, ":")
	c := Client{Reach: Reach{Public: true, Hosts: []string{host}}, Resolver: resolver(t, "127.0.0.1")}
	var refused *Refused
	if _, err := get(t, c, at+"/?port="+port); !errors.As(err, &refused) || hits.Load() != 1 {
		t.Errorf("got %v after %d requests", err, hits.Load())
	}
}

func TestRedirectsAreDecidedOneByOne(t *testing.T) {
	at, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch to := r.URL.Query().Get("to"); {
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		default:
			fmt.Fprint(w, r.Header.Get("Referer"), "end")
		}
	})
	c := Client{Reach: Reach{Hosts: []string{host}}}
	to := func(target string) string { return at + "/?to=" + url.QueryEscape(target) }
	page, err := get(t, c, to("/end"))
	if err != nil || string(page.Body) != "end" || page.URL != at+"/end" {
		t.Errorf("got %+v, %v", page, err)
	}
	if page, err := c.Get(t.Context(), to("/end"), "*/*"); err != nil || page.Redirect != at+"/end" || page.Body != nil {
		t.Errorf("a redirect is followed before it is decided: %+v, %v", page, err)
	}
	var refused *Refused
	for _, target := range []string{"http://127.0.0.1:1/", "file:///etc/passwd", "http://169.254.169.254/", "http://user:x@" + host + "/", "https://example.com/", "/" + strings.Repeat("x", 3000)} {
		if _, err := get(t, c, to(target)); !errors.As(err, &refused) {
			t.Errorf("to %.100s: %v", target, err)
		}
	}
}

func TestResponsesAreLimited(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	zip.Write(big)
	zip.Close()
	at, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/whole":
			w.Header().Set("Content-Length", fmt.Sprint(len(big)))
			w.Write(big)
		case "/stream":
			w.(http.Flusher).Flush()
			w.Write(big)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		case "/just":
			w.Write(big[:MaxBody])
		case "/404":
			http.NotFound(w, r)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			w.Write(big[:10])
		}
	})
	c := Client{Reach: Reach{Hosts: []string{host}}}
	for _, path := range []string{"/whole", "/stream", "/bomb"} {
		if _, err := get(t, c, at+path); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if page, err := get(t, c, at+"/just"); err != nil || len(page.Body) != MaxBody {
		t.Errorf("of exactly as much as is taken, %d bytes came: %v", len(page.Body), err)
	}
	for _, path := range []string{"/header", "/cut"} {
		if _, err := get(t, c, at+path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
	var status *StatusError
	if _, err := get(t, c, at+"/404"); !errors.As(err, &status) || status.Code != http.StatusNotFound || err.Error() != at+"/404 returned HTTP status 404 Not Found" {
		t.Errorf("got %v", err)
	}
}

func TestAnEndlessResponseIsAborted(t *testing.T) {
	at, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	for _, path := range []string{"/header", "/body"} {
		late := errors.New("it took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
		_, err := Client{Reach: Reach{Hosts: []string{host}}}.Get(ctx, at+path, "*/*")
		cancel()
		if !errors.Is(err, late) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestErrorsOfFetchesNameTheAddress(t *testing.T) {
	refuses, host := serve(t, nil)
	c := Client{Reach: Reach{Hosts: []string{host, "no-such-host.example"}}, Resolver: resolver(t, "::")}
	if _, err := get(t, c, "http://no-such-host.example/"); err == nil || !strings.Contains(err.Error(), "no-such-host.example") {
		t.Errorf("got %v", err)
	}
	https := strings.Replace(refuses, "http:", "https:", 1)
	if _, err := get(t, c, https); err == nil || !strings.HasPrefix(err.Error(), "fetch "+https+": ") {
		t.Errorf("got %v", err)
	}
}
