package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

var errOff = errors.New("the network is gone")

func allowAll(string, int, netip.Addr) error { return nil }

// A tunnel that is open when the switch goes off ends, and no further one opens.
func TestASwitchClosesOpenTunnels(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	ends := make(chan string)
	go func() {
		conn, err := far.Accept()
		if err != nil {
			ends <- err.Error()
			return
		}
		defer conn.Close()
		data, _ := io.ReadAll(conn) // a reset also ends it
		ends <- string(data)
	}()
	s := NewSwitch()
	r := serve(t, &Server{Allowed: allowAll, Switch: s})
	near, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	fmt.Fprintf(near, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", far.Addr())
	from := bufio.NewReader(near)
	if line, err := from.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	if _, err := from.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.Off(errOff)
	s.Off(errors.New("another reason"))
	fmt.Fprint(near, "secret")
	if got := <-ends; got != "" {
		t.Errorf("after the switch was off %q arrived", got)
	}
	if _, err := io.ReadAll(from); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	res, err := client(t, r).Get("http://" + far.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), errOff.Error()) {
		t.Errorf("%s %s %v", res.Status, body, err)
	}
	last := r.seen()[1]
	if !last.Denied || !errors.Is(last.Cause, errOff) {
		t.Errorf("recorded %+v", last)
	}
}

// A connection that was dialled while the switch went off carries nothing.
func TestAConnectionDialledMeanwhileIsClosed(t *testing.T) {
	sink := httptest.NewServer(http.NotFoundHandler())
	defer sink.Close()
	s := NewSwitch()
	s.Off(errOff)
	conn, err := net.Dial("tcp", sink.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.watch(conn).Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	var none *Switch
	if none.Reason() != nil || none.watch(conn) != conn {
		t.Error("a nil switch is off")
	}
}

func TestASwitchThatIsOnChangesNothing(t *testing.T) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }))
	defer sink.Close()
	s := NewSwitch()
	r := serve(t, &Server{Allowed: allowAll, Switch: s})
	res, err := client(t, r).Get(sink.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); string(body) != "page" || err != nil {
		t.Errorf("%s %v", body, err)
	}
}
