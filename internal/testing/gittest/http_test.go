package gittest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// A server whose client ends in the middle of a request can be closed: nothing waits for the rest.
func TestHTTPWithoutTheRestOfARequest(t *testing.T) {
	s := NewSandbox(t)
	s.Run("config", "http.receivepack", "true")
	handler, err := HTTP(t.Context(), s.Root, t.Output(), "HOME="+s.Home, "PATH="+os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		handler.ServeHTTP(w, r)
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST /.git/git-receive-pack HTTP/1.1\r\nHost: git\r\nContent-Type: application/x-git-receive-pack-request\r\nContent-Length: 100\r\n\r\n0000")
	<-begun
	conn.Close()
	server.Close()
}
