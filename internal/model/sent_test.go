package model

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
)

// posting sends a request and returns when its response begins.
type posting struct {
	client *http.Client
	url    string
}

func (p posting) Stream(ctx context.Context, _ Request, _ func(Delta)) (resp Response, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, http.NoBody)
	if err != nil {
		return resp, err
	}
	got, err := p.client.Do(r)
	if err != nil {
		return resp, err
	}
	return resp, got.Body.Close()
}

// The request is announced after it was sent, and before its response.
func TestARequestIsAnnouncedAfterItWasSent(t *testing.T) {
	sent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-sent }))
	t.Cleanup(server.Close)
	early := false
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-sent:
			early = true
		default:
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}}
	m := Announced(posting{client, server.URL}, sync.OnceFunc(func() { close(sent) }))
	if _, err := m.Stream(t.Context(), Request{}, nil); err != nil || early {
		t.Errorf("announced before the connection: %v; error %v", early, err)
	}
}

// A request without a server is announced at its end if calls follow.
func TestAnnouncedWithoutAServer(t *testing.T) {
	for _, c := range []struct {
		model fixed
		want  int
	}{
		{fixed{resp: Response{Calls: []ToolCall{{Name: "read"}}}}, 1},
		{fixed{resp: Response{Text: "Done."}}, 0},
		{fixed{err: errors.New("broken")}, 0},
	} {
		n := 0
		if _, got := Announced(c.model, func() { n++ }).Stream(t.Context(), Request{}, nil); !errors.Is(got, c.model.err) || n != c.want {
			t.Errorf("%+v: announced %d times; error %v", c.model, n, got)
		}
	}
}

// early sends a request whose body is longer than the server reads.
type early struct {
	url  string
	body io.Reader
}

func (e early) Stream(ctx context.Context, _ Request, _ func(Delta)) (resp Response, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, e.body)
	if err != nil {
		return resp, err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return resp, err
	}
	return resp, got.Body.Close()
}

// A server can respond before it has read the request. When the rest of it is written nobody expects
// an announcement any more.
func TestNotAnnouncedAfterTheEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // otherwise it reads the rest first
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	written := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(written) }})
	body, end := io.Pipe()
	var n atomic.Int32
	if _, err := Announced(early{server.URL, body}, func() { n.Add(1) }).Stream(ctx, Request{}, nil); err != nil {
		t.Fatal(err)
	}
	end.Close()
	<-written // called after that of the model
	if n := n.Load(); n != 0 {
		t.Errorf("announced %d times", n)
	}
}
