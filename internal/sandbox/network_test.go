//go:build linux

package sandbox

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/sandbox/proxy"
)

// The proxy is the only connection to the outside, and connects only to allowed hosts.
func TestOnlyProxyAndAllowedHostsAreReachable(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "gotcha") }))
	defer origin.Close()
	port := mustPort(t, origin.URL)
	hosts, err := reach.Parse([]string{"127.0.0.1:" + port}, false)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, line string
		want       bool // to be answered
	}{
		{"an allowed host", `curl -sS --noproxy '' "http://127.0.0.1:$PORT/"`, true},
		{"an allowed host by CONNECT", `curl -sS --noproxy '' -p "http://127.0.0.1:$PORT/"`, true},
		{"another port", `curl -sS --noproxy '' "http://127.0.0.1:$OTHER/"`, false},
		{"another name for the same", `curl -sS --noproxy '' "http://localhost:$PORT/"`, false},
		{"past the proxy", `curl -sS --noproxy '*' "http://127.0.0.1:$PORT/"`, false},
		{"UDP", `python3 -c 'import socket; socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b"x",("192.0.2.1",53)); print("gotcha")'`, false},
		{"another protocol over streams", `python3 -c 'import socket,os; s=socket.socket(socket.AF_INET,socket.SOCK_STREAM,262); s.connect(("127.0.0.1",int(os.environ["PORT"]))); print("gotcha")'`, false},
		{"the proxy's port elsewhere", `python3 -c 'import socket,os; p=int(os.environ["HTTP_PROXY"].split(":")[-1]); s=socket.create_connection(("127.0.0.2",p),1); print("gotcha")'`, false},
		{"the proxy's port on IPv6", `python3 -c 'import socket,os; p=int(os.environ["HTTP_PROXY"].split(":")[-1]); s=socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.2",p)); print("gotcha")'`, false},
		{"an allowed host from a thread, without blocking", `python3 -c '
import threading,socket,os,select
def f():
  s=socket.socket(); s.setblocking(False); s.connect_ex(("127.0.0.1",int(os.environ["HTTP_PROXY"].split(":")[-1])))
  select.select([],[s],[]); s.setblocking(True); s.sendall(b"GET http://127.0.0.1:%s/ HTTP/1.0\r\n\r\n"%os.environ["PORT"].encode())
  while d:=s.recv(999): print(d)
t=threading.Thread(target=f); t.start(); t.join()'`, true},
		{"an address that changes while it is judged", `python3 -c '
import ctypes,os,socket,struct,threading
P=int(os.environ["HTTP_PROXY"].split(":")[-1]); good=struct.pack("!2sH4s8x",struct.pack("=H",2),P,b"\x7f\0\0\1"); bad=struct.pack("!2sH4s8x",struct.pack("=H",2),int(os.environ["PORT"]),b"\x7f\0\0\1")
b=ctypes.create_string_buffer(good,16); on=True
def swap():
  while on: ctypes.memmove(b,bad,16); ctypes.memmove(b,good,16)
t=threading.Thread(target=swap); t.start(); c=ctypes.CDLL(None)
for i in range(300):
  s=socket.socket()
  if c.connect(s.fileno(),b,16)==0 and s.getpeername()[1]!=P: print("gotcha")
  s.close()
on=False'`, false},
		{"data before a connection", `python3 -c 'import socket,os; s=socket.socket(); s.sendto(b"GET / HTTP/1.0\r\n\r\n",0x20000000,("127.0.0.1",int(os.environ["PORT"]))); print(s.recv(999))'`, false},
	}
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			var mu sync.Mutex
			var attempts []proxy.Attempt
			server := &proxy.Server{Allowed: hosts.Allowed, Record: func(a proxy.Attempt) {
				mu.Lock()
				defer mu.Unlock()
				attempts = append(attempts, a)
			}}
			spec := newFixture(t).spec()
			spec.Network = Network{Serve: server.Serve}
			if level == Partial {
				spec.Network.Addr = serveOutside(t, server)
			}
			s := inside(t, spec, level)
			for _, tt := range tests {
				got := bash(t, s, tt.line, "PORT="+port, "OTHER=1")
				if answered := strings.Contains(got.output, "gotcha"); got.err != nil || answered != tt.want {
					t.Errorf("%s: answered: %t; %v: %s", tt.name, answered, got.err, got.output)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			denied := len(slices.DeleteFunc(slices.Clone(attempts), func(a proxy.Attempt) bool { return !a.Denied }))
			if len(attempts) != 5 || denied != 2 {
				t.Errorf("recorded %+v", attempts)
			}
		})
	}
}

// serveOutside serves a proxy on the machine's loopback, for level Partial.
func serveOutside(t *testing.T, server *proxy.Server) netip.AddrPort {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		ln.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return netip.MustParseAddrPort(ln.Addr().String())
}

func mustPort(t *testing.T, u string) string {
	t.Helper()
	parsed, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Port()
}
