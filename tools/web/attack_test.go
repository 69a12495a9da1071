package web

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/testing/corpus"
)

// fetchAttack is an address that leads where nobody may go: to a private server,
// or to what is no page. It is shown to do that to somebody who guards nothing.
type fetchAttack struct {
	name  string
	url   string   // PRIVATE and PRIVATE6 are the ports of a private server, OPEN the address of one that may be reached, FILE a file
	leads []string // the addresses that a name leads to, one after the other; nil: the system knows
	to    string   // where the open server redirects to
	proxy bool     // the environment names the private server as a proxy
	curl  bool     // curl shows it, not Go's client
	looks bool     // it takes in who looks first where a name leads, and looks again to go there
}

func fetchAttacks() []fetchAttack {
	private := []string{"127.0.0.1"}
	long := "http://OPEN/?" + strings.Repeat("x", 3000)
	return []fetchAttack{
		{name: "an address of this machine", url: "http://127.0.0.1:PRIVATE/"},
		{name: "another address of this machine", url: "http://127.8.9.1:PRIVATE/"},
		{name: "no address", url: "http://0.0.0.0:PRIVATE/"},
		{name: "a name of this machine", url: "http://localhost:PRIVATE/"},
		{name: "a name below that of this machine", url: "http://a.localhost:PRIVATE/", curl: true},
		{name: "an address as one number", url: "http://2130706433:PRIVATE/", curl: true},
		{name: "an octal address", url: "http://0177.0.0.01:PRIVATE/", curl: true},
		{name: "a hexadecimal address", url: "http://0x7f.0.0.0x1:PRIVATE/", curl: true},
		{name: "an address with parts left out", url: "http://127.1:PRIVATE/", curl: true},
		{name: "a number that is nobody's", url: "http://0:PRIVATE/", curl: true},
		{name: "an address in wide digits", url: "http://１２７.０.０.１:PRIVATE/"},
		{name: "an address with ideographic dots", url: "http://127。0。0。1:PRIVATE/"},
		{name: "an address of this machine in version 6", url: "http://[::1]:PRIVATE6/"},
		{name: "no address in version 6", url: "http://[::]:PRIVATE/"},
		{name: "an address in version 6 that stands for one in version 4", url: "http://[::ffff:127.0.0.1]:PRIVATE/"},
		{name: "an address in version 6 with a zone", url: "http://[::1%25lo]:PRIVATE6/"},
		{name: "an address behind a name of a user", url: "http://example.com@127.0.0.1:PRIVATE/"},
		{name: "an address before a fragment that looks like a host", url: "http://127.0.0.1:PRIVATE#@example.com/"},
		{name: "an address before a query that looks like a host", url: "http://127.0.0.1:PRIVATE?@example.com/"},
		{name: "an encoded address", url: "http://%31%32%37.0.0.1:PRIVATE/", curl: true},
		{name: "a name that leads to this machine", url: "http://www.example.org:PRIVATE/", leads: private},
		{name: "a name that leads to no address", url: "http://www.example.org:PRIVATE/", leads: []string{"0.0.0.0"}},
		{name: "a name that leads to this machine in version 6", url: "http://www.example.org:PRIVATE6/", leads: []string{"::1"}},
		{name: "a name below one that may be reached, that leads to this machine", url: "http://a.example.com:PRIVATE/", leads: private},
		{name: "a name that leads elsewhere the second time", url: "http://www.example.org:PRIVATE/", leads: []string{"93.184.216.34", "127.0.0.1"}, looks: true},
		{name: "a redirect to this machine", url: "http://OPEN/", to: "http://127.0.0.1:PRIVATE/"},
		{name: "a redirect to another port", url: "http://OPEN/", to: "//127.0.0.1:PRIVATE/"},
		{name: "a redirect to a name that leads to this machine", url: "http://OPEN/", to: "http://www.example.org:PRIVATE/", leads: private},
		{name: "a redirect by a redirect", url: "http://OPEN/again", to: "http://127.0.0.1:PRIVATE/"},
		{name: "a proxy of the environment", url: "http://OPEN/", proxy: true, curl: true},
		{name: "a file", url: "file://FILE", curl: true},
		{name: "another protocol", url: "gopher://127.0.0.1:PRIVATE/_x", curl: true},
		{name: "a protocol of dictionaries", url: "dict://127.0.0.1:PRIVATE/x", curl: true},
		{name: "an address that carries something away", url: long},
	}
}

// ground is what an attack leads to: servers, a file, and how often they were
// met.
type ground struct {
	fetchAttack
	hits    atomic.Int64
	private string
	open    string // host and port
}

func (a fetchAttack) ground(t *testing.T) *ground {
	t.Helper()
	g := &ground{fetchAttack: a}
	port4, port6 := g.listen(t, "tcp4", "0.0.0.0:0"), g.listen(t, "tcp6", "[::1]:0")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("gotcha"), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := strings.NewReplacer("PRIVATE6", port6, "PRIVATE", port4, "FILE", file)
	_, g.open = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(r.URL.RawQuery) > 2000:
			g.hits.Add(1)
		case r.URL.Path == "/again":
			http.Redirect(w, r, "/", http.StatusFound)
		case g.to != "":
			w.Header().Set("Location", g.to)
			w.WriteHeader(http.StatusFound)
		}
	})
	g.private = "http://127.0.0.1:" + port4
	g.to, g.url = ports.Replace(g.to), strings.ReplaceAll(ports.Replace(g.url), "OPEN", g.open)
	return g
}

// listen counts connections; the port is "0" without such a network.
func (g *ground) listen(t *testing.T, network, address string) (port string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	if err != nil {
		return "0"
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			g.hits.Add(1)
			io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\ngotcha")
			conn.Close()
		}
	}()
	_, port, err = net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func (g *ground) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	if g.leads == nil {
		return nil
	}
	return resolver(t, g.leads...)
}

// naively fetches as somebody who guards nothing, and reports whether the
// attack had its effect.
func (g *ground) naively(t *testing.T) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if g.curl {
		cmd := exec.CommandContext(ctx, "curl", "-sL", "--max-time", "30", g.url)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if g.proxy {
			cmd.Env = append(cmd.Env, "http_proxy="+g.private)
		}
		out, _ := cmd.Output() // what the server has seen counts
		return g.hits.Load() > 0 || bytes.Contains(out, []byte("gotcha"))
	}
	names := g.resolver(t)
	if names == nil {
		names = net.DefaultResolver
	}
	if g.looks {
		at, err := names.LookupNetIP(ctx, "ip4", "www.example.org")
		if err != nil || !reach.Public(at[0].Unmap()) {
			t.Fatalf("it leads to %v at first: %v", at, err)
		}
	}
	client := http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Resolver: names}).DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
	}
	return g.hits.Load() > 0
}

func TestFetchAttacksFail(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	for _, a := range fetchAttacks() {
		t.Run(a.name, func(t *testing.T) {
			free := a.ground(t)
			if strings.Contains(free.url, ":0/") {
				t.Skip("this machine lacks a version of the protocol")
			}
			if !free.naively(t) {
				t.Fatal("the attack fails where nothing is guarded")
			}
			g := a.ground(t)
			if a.proxy {
				t.Setenv("http_proxy", g.private)
				t.Setenv("HTTP_PROXY", g.private)
			}
			c := Client{Reach: Reach{Public: true, Hosts: []string{g.open, "*.example.com", "github"}}, Resolver: g.resolver(t)}
			if a.looks {
				c.Resolver = resolver(t, "127.0.0.1") // no first look is taken: the one address is that of the second
			}
			page, err := get(t, c, g.url)
			if g.hits.Load() > 0 || bytes.Contains(page.Body, []byte("gotcha")) {
				t.Errorf("the attack has its effect: %v", err)
			}
		})
	}
}

func TestTheListOfFetchAttacksIsComplete(t *testing.T) {
	var names []string
	for _, a := range fetchAttacks() {
		names = append(names, a.name)
	}
	corpus.Check(t, "ssrf", names)
}
