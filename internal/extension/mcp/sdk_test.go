package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/millhand/millhand/internal/testing/mcptest"
)

// optional serves requests for streams, and leaves others to a server.
func optional(t *testing.T, r *mcptest.Remote, serve http.HandlerFunc) string {
	t.Helper()
	r.Key = ""
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet {
			r.ServeHTTP(w, req)
			return
		}
		serve(w, req)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// rejectLater opens a stream that ends, and no other.
func rejectLater() http.HandlerFunc {
	var count atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		if count.Add(1) > 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 1\n\n")
	}
}

func silent(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // or else the end of the connection is not noticed
	<-r.Context().Done()
}

func TestTheOptionalStreamMayFail(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{"silent": silent, "rejected later": rejectLater()} {
		s, _, err := Start(t.Context(), remoteConfig(&notices{}, optional(t, newRemote(t), serve)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 20 {
			if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" || s.Info().Restarts != 0 {
				t.Fatalf("%s: got %+v, %v", name, res, err)
			}
			time.Sleep(2 * time.Millisecond)
		}
		s.Close()
	}
}

func TestStreamsThatCannotBeResumed(t *testing.T) {
	for want, serve := range map[string]http.HandlerFunc{
		"the connection ended before the response, and can't be resumed": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"the connection ended before the response": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": nothing\n\n")
		},
		"EOF": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s, _, err := Start(t.Context(), remoteConfig(&notices{}, optional(t, newRemote(t), serve)))
		if err != nil {
			t.Fatal(err)
		}
		want = "MCP server test: call http.resume: " + want + "; whether it had an effect is not known"
		if _, err := call(t, s, "http.resume", ""); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if res, err := call(t, s, "echo", "x"); err != nil || res.Text != "x" || s.Info().Restarts != 0 {
			t.Errorf("the next call: %+v, %v", res, err)
		}
		s.Close()
	}
}

// What is ours in front of the SDK's transports is there for what they lose. A row that fails names what can be removed.
func TestWhatTheTransportOfTheSDKLoses(t *testing.T) {
	connect := func(url string) (*sdk.ClientSession, error) {
		return sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url}, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	}
	echo := func(s *sdk.ClientSession, tool string) error {
		_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]string{"text": "x"}})
		return err
	}
	t.Run("a stream that is not opened delays the start", func(t *testing.T) {
		connected := make(chan error, 1)
		url := optional(t, newRemote(t), func(w http.ResponseWriter, _ *http.Request) {
			select {
			case <-connected:
				t.Error("Connect does not wait for the stream any more: httpConn.initialized can be removed")
			case <-time.After(300 * time.Millisecond):
			}
			w.WriteHeader(http.StatusMethodNotAllowed)
		})
		s, err := connect(url)
		connected <- err
		if err == nil {
			s.Close()
		}
	})
	t.Run("a stream that is not opened again ends the connection", func(t *testing.T) {
		s, err := connect(optional(t, newRemote(t), rejectLater()))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for began := time.Now(); echo(s, "echo") == nil; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 5*time.Minute {
				t.Fatal("the connection goes on: httpConn.listen can be removed")
			}
		}
	})
	t.Run("an event that is not a message ends the connection", func(t *testing.T) {
		s, err := connect(optional(t, newRemote(t), unsupported))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if echo(s, "http.noise") == nil || echo(s, "echo") == nil {
			t.Error("the connection goes on: stream need not filter events")
		}
	})
	t.Run("a line that is not a message ends the connection", func(t *testing.T) {
		c, err := (&sdk.IOTransport{Reader: io.NopCloser(strings.NewReader("Server running\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"))}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if message, err := c.Read(t.Context()); err == nil {
			t.Errorf("got %+v: the filter in conn can be removed", message)
		}
	})
	t.Run("tokens for clients need metadata of another grant, and the server names who gets the secret", func(t *testing.T) {
		var h *httptest.Server
		h = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.Contains(r.URL.Path, "oauth-protected-resource"):
				fmt.Fprintf(w, `{"resource": "%s", "authorization_servers": ["%[1]s"]}`, h.URL)
			case strings.Contains(r.URL.Path, "oauth-authorization-server"):
				fmt.Fprintf(w, `{"issuer": "%s", "token_endpoint": "%[1]s/token", "grant_types_supported": ["client_credentials"]}`, h.URL)
			default:
				fmt.Fprint(w, `{"access_token": "x", "token_type": "Bearer"}`)
			}
		}))
		defer h.Close()
		handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: &oauthex.ClientCredentials{
			ClientID: "id", ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: "secret"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, nil)
		err = handler.Authorize(t.Context(), r, &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody})
		if err == nil || !strings.Contains(err.Error(), "PKCE") {
			t.Errorf("error is %v: token_url need not be required", err)
		}
	})
	t.Run("middleware does not see unknown requests", func(t *testing.T) {
		seen := make(chan string, 8)
		client := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil)
		client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				seen <- method
				return next(ctx, method, r)
			}
		})
		here, there := sdk.NewInMemoryTransports()
		server, err := there.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		refusal := make(chan error, 1)
		go func() {
			defer close(refusal)
			for _, text := range []string{
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + protocol + `","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, // to initialize
				`{"jsonrpc":"2.0","id":"q","method":"strange/thing"}`,                                                                                // after notifications/initialized
			} {
				if _, err := server.Read(t.Context()); err != nil {
					return
				}
				if message, err := jsonrpc.DecodeMessage([]byte(text)); err == nil {
					server.Write(t.Context(), message)
				}
			}
			_, err := server.Read(t.Context())
			refusal <- err
		}()
		s, err := client.Connect(t.Context(), here, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err, ok := <-refusal; !ok || err != nil || len(seen) > 0 {
			t.Errorf("error is %v, seen %d: inbox need not refuse requests", err, len(seen))
		}
	})
}

// unsupported refuses streams as servers without messages of their own do.
func unsupported(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }
