package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millhand/millhand/internal/testing/mcptest"
)

// remoteConfig returns the configuration of a server over HTTP.
func remoteConfig(n *notices, url string) Config {
	return Config{
		Name: "test", Version: "1", Timeout: time.Minute, CallTimeout: time.Minute, Now: time.Now, Notify: n.add,
		Remote: &Remote{URL: url, Header: map[string]string{"Authorization": "Bearer key-4711"}},
	}
}

func startRemote(t *testing.T, r *mcptest.Remote) (*Server, []Tool, *notices, *httptest.Server) {
	t.Helper()
	h := httptest.NewServer(r)
	t.Cleanup(h.Close)
	n := &notices{}
	s, tools, err := Start(t.Context(), remoteConfig(n, h.URL+"/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, tools, n, h
}

func newRemote(t *testing.T, args ...string) *mcptest.Remote {
	t.Helper()
	r, err := mcptest.NewRemote(os.Environ, args...)
	if err != nil {
		t.Fatal(err)
	}
	r.Key = "key-4711"
	return r
}

func TestRemoteServersOfTheSDK(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{
		"events": {}, "json": {JSONResponse: true}, "stateless": {Stateless: true}, "resumable": {EventStore: sdk.NewMemoryEventStore(nil)},
	} {
		server := sdk.NewServer(&sdk.Implementation{Name: "real", Version: "3"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(ctx context.Context, r *sdk.CallToolRequest, in struct {
			Text string `json:"text"`
		},
		) (*sdk.CallToolResult, any, error) {
			if in.Text == "progress" {
				r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
		})
		h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options))
		defer h.Close()
		n := &notices{}
		s, tools, err := Start(t.Context(), remoteConfig(n, h.URL))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(tools) != 1 || tools[0].Name != "echo" {
			t.Errorf("%s: tools %+v", name, tools)
		}
		for _, text := range []string{"héllo", "progress"} {
			if res, err := call(t, s, "echo", text); err != nil || res.Text != text {
				t.Errorf("%s: got %+v, %v", name, res, err)
			}
		}
		if i := s.Info(); i.Name != "real" || i.Protocol != protocol || i.Calls != 2 || i.Restarts != 0 {
			t.Errorf("%s: info is %+v", name, i)
		}
		s.Close()
		for range server.Sessions() {
			if !options.Stateless { // there each request has a session, which ends a little later
				t.Errorf("%s: the session was not deleted", name)
			}
		}
		if len(n.all) > 0 {
			t.Errorf("%s: notices %+v", name, n.all)
		}
	}
}

func TestRemoteServers(t *testing.T) {
	r := newRemote(t, "-page", "5")
	s, tools, n, _ := startRemote(t, r)
	if len(tools) < 15 {
		t.Fatalf("%d tools", len(tools))
	}
	for tool, want := range map[string]string{
		"echo": "x", "fail": "it did not work", "structured": `{"n":1}`, "http.noise": "after the noise", "http.resume": "resumed",
	} {
		if res, err := call(t, s, tool, "x"); err != nil || res.Text != want {
			t.Errorf("%s: got %+v, %v", tool, res, err)
		}
	}
	if !n.has(Notice{Noise, "Server is busy"}) {
		t.Errorf("notices are %+v", n.all)
	}
	for _, method := range []string{"sampling/createMessage", "roots/list"} {
		if res, err := call(t, s, "ask", method); err != nil || !strings.Contains(res.Text, "unattended") || !n.has(Notice{Refused, method}) {
			t.Errorf("%s: got %+v, %v; %+v", method, res, err, n.all)
		}
	}
	if res, err := call(t, s, "ask", "ping"); err != nil || res.Text != "{}" {
		t.Errorf("ping: got %+v, %v", res, err)
	}
	for r.Say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) == 0 {
		time.Sleep(time.Millisecond) // the stream is opened in the background
	}
	for !n.has(Notice{Kind: Changed}) {
		time.Sleep(time.Millisecond)
	}
	s.Pause()
	if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" || s.Info().Restarts != 0 {
		t.Errorf("got %+v, %v", res, err)
	}
	s.Close()
	if opened, deleted := r.Sessions(); opened != 1 || deleted != 1 {
		t.Errorf("%d sessions opened, %d deleted", opened, deleted)
	}
	if _, err := call(t, s, "echo", "x"); err == nil || !strings.Contains(err.Error(), "has ended with the job") {
		t.Errorf("error is %v", err)
	}
}

func TestErrorsOfRemoteCalls(t *testing.T) {
	for _, c := range []struct{ tool, text, want string }{
		{"refuse", "", "no such thing (code -32602)"},
		{"http.refuse", "", "HTTP 400 Bad Request: Bad Request: no"},
		{"http.status", "403", "HTTP 403 Forbidden; check its headers: the key may be missing or invalid"},
		{"http.status", "429", "HTTP 429 Too Many Requests"},
		{"http.status", "502", "HTTP 502 Bad Gateway; whether it had an effect is not known"},
		{"http.type", "text/html", `the response has the type "text/html"; check the URL; whether it had an effect is not known`},
		{"http.type", "application/json", "the body of the response is not a message; whether it had an effect is not known"},
		{"http.type", "text/event-stream", "the connection ended before the response; whether it had an effect is not known"},
		{"http.cut", "", "the connection ended before the response; whether it had an effect is not known"},
		{"crash", "", "EOF; whether it had an effect is not known"},
	} {
		s, _, _, _ := startRemote(t, newRemote(t))
		_, err := call(t, s, c.tool, c.text)
		if want := "MCP server test: call " + c.tool + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" || s.Info().Restarts != 0 { // the session goes on
			t.Errorf("after %s: got %+v, %v", c.tool, res, err)
		}
	}
}

func TestRemoteMessagesHaveAMaximumSize(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		r := newRemote(t)
		r.JSON = asJSON
		s, _, _, _ := startRemote(t, r)
		_, err := call(t, s, "http.huge", "")
		if err == nil || !strings.Contains(err.Error(), "message exceeds 32 MiB; whether it had an effect is not known") {
			t.Errorf("error is %v", err)
		}
		if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" || s.Info().Restarts != 1 {
			t.Errorf("got %+v, %v", res, err)
		}
	}
}

// The next request must not use a connection whose session has expired: who reads the response knows.
func TestAConnectionEndsBeforeItsLastResponse(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	defer h.Close()
	c, err := newHTTPConn(t.Context(), Remote{URL: h.URL}, "test", newInbox(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
	r.Header.Set("Mcp-Session-Id", "expired")
	if resp, err := c.RoundTrip(r); !errors.Is(err, errExpired) { //nolint:bodyclose // it has no body
		t.Fatalf("got %v, %v", resp, err)
	}
	if c.works() {
		t.Error("the connection works, although its session has expired")
	}
}

func TestExpiredSessionsAreOpenedAgain(t *testing.T) {
	r := newRemote(t)
	s, _, _, _ := startRemote(t, r)
	for i := range maxRestarts {
		r.Expire()
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
					t.Errorf("got %+v, %v", res, err)
				}
			})
		}
		group.Wait()
		if opened, _ := r.Sessions(); opened != i+2 || s.Info().Restarts != i+1 {
			t.Fatalf("%d sessions, %d restarts", opened, s.Info().Restarts)
		}
	}
	r.Expire()
	if _, err := call(t, s, "echo", "x"); err == nil || !strings.Contains(err.Error(), "has ended its session 4 times in this job and is not used again") {
		t.Errorf("error is %v", err)
	}
}

// A server that rejects each call for its session: each call opens it again once.
func TestRejectedSessionsAreOpenedAgainOnce(t *testing.T) {
	r := newRemote(t)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || bytes.Contains(body, []byte(`"tools/call"`)) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(h.Close)
	s, _, err := Start(t.Context(), remoteConfig(&notices{}, h.URL+"/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for i := range maxRestarts {
		if _, err := call(t, s, "echo", "x"); err == nil || !strings.Contains(err.Error(), "the session has expired") {
			t.Errorf("error is %v", err)
		}
		if opened, _ := r.Sessions(); opened != i+2 {
			t.Fatalf("%d sessions after %d calls", opened, i+1)
		}
	}
}

// A call that was accepted goes on, and is not sent again, when another meets the end of the
// session.
func TestAcceptedCallsAreNotSentAgain(t *testing.T) {
	r := newRemote(t)
	s, _, _, _ := startRemote(t, r)
	var group sync.WaitGroup
	group.Go(func() {
		if res, err := call(t, s, "http.wait", ""); err != nil || res.Text != "http.wait called" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	<-r.Waiting
	r.Expire()
	if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" {
		t.Errorf("got %+v, %v", res, err)
	}
	r.Waiting <- struct{}{}
	group.Wait()
	if i := s.Info(); i.Restarts != 1 || i.Errors != 0 {
		t.Errorf("info is %+v", i)
	}
}

func TestRedirectsToOtherOriginsAreNotFollowed(t *testing.T) {
	var mu sync.Mutex
	seen := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen += r.Method + r.Header.Get("Authorization")
	}))
	defer other.Close()
	r := newRemote(t)
	s, _, _, _ := startRemote(t, r)
	_, err := call(t, s, "http.redirect", other.URL+"/mcp?token=x")
	if want := "MCP server test: call http.redirect: HTTP 307 Temporary Redirect; the redirect to another origin (" + other.URL + ") is not followed: if you trust it, change url"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen != "" {
		t.Errorf("the other origin got %s", seen)
	}
	moved := httptest.NewServer(nil)
	defer moved.Close()
	moved.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/mcp":
			http.Redirect(w, q, "/mcp/", http.StatusPermanentRedirect)
		case "/mcp/":
			r.ServeHTTP(w, q)
		default:
			http.Redirect(w, q, "/mcp/", http.StatusFound)
		}
	})
	within, _, err := Start(t.Context(), remoteConfig(&notices{}, moved.URL+"/mcp"))
	if err != nil {
		t.Fatalf("a redirect within the origin: %v", err)
	}
	within.Close()
	if _, _, err := Start(t.Context(), remoteConfig(&notices{}, moved.URL+"/old")); err == nil || err.Error() != "MCP server test: start: HTTP 302 Found; the redirect to /mcp/ is not followed: change url" {
		t.Errorf("error is %v", err)
	}
}

func TestFaultsOfRemoteStarts(t *testing.T) {
	r := newRemote(t, "-fault", "silent")
	r.Key = "another"
	h := httptest.NewServer(r)
	defer h.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	for url, want := range map[string]string{
		h.URL:                "MCP server test: start: HTTP 401 Unauthorized; check its headers: the key may be missing or invalid",
		missing.URL:          "MCP server test: start: HTTP 404 Not Found; check its url: servers of the older transport HTTP+SSE are not supported",
		"http://127.0.0.1:1": "MCP server test: start: dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		if _, _, err := Start(t.Context(), remoteConfig(&notices{}, url)); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	r.Key = ""
	c := remoteConfig(&notices{}, h.URL)
	c.Timeout = 100 * time.Millisecond
	if _, _, err := Start(t.Context(), c); err == nil || err.Error() != "MCP server test: start: timed out after 100ms" {
		t.Errorf("error is %v", err)
	}
}

func TestRemoteCallsTimeOutWithoutProgress(t *testing.T) {
	r := newRemote(t)
	h := httptest.NewServer(r)
	defer h.Close()
	c := remoteConfig(&notices{}, h.URL)
	c.CallTimeout = 350 * time.Millisecond
	s, _, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := call(t, s, "hang", ""); err == nil || err.Error() != "MCP server test: call hang: timed out after 350ms without progress" {
		t.Errorf("error is %v", err)
	}
	for !strings.Contains(r.Notes(), "cancelled:") {
		time.Sleep(10 * time.Millisecond)
	}
	takesSteps(t, c)
}
