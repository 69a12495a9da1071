package mcp

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/mcptest"
)

// held collects tokens.
type held struct {
	mu  sync.Mutex
	all []string
}

func (h *held) add(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, token)
}

// authorized returns the configuration of a server for which an authority issues tokens.
func authorized(t *testing.T, a *mcptest.Authority, serve http.Handler) (Config, *held) {
	t.Helper()
	a.ID, a.Secret, a.Remote = "client", "secret-0815", newRemote(t)
	mux := http.NewServeMux()
	mux.Handle("/mcp", a.Remote)
	mux.Handle("/token", serve)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	tokens := &held{}
	c := remoteConfig(&notices{}, h.URL+"/mcp")
	c.Remote.Header = nil
	c.Remote.OAuth = &OAuth{TokenURL: h.URL + "/token", ClientID: "client", ClientSecret: "secret-0815", Scopes: []string{"read", "write"}, Hold: tokens.add}
	return c, tokens
}

func TestTokensAreRequestedForClients(t *testing.T) {
	a := &mcptest.Authority{}
	c, tokens := authorized(t, a, a)
	s, _, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for want := range 3 {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if res, err := call(t, s, "http.key", ""); err != nil || !strings.HasPrefix(res.Text, "Bearer issued-token-4711-") || s.Info().Restarts != 0 {
					t.Errorf("got %+v, %v", res, err)
				}
			})
		}
		group.Wait()
		if count, scope := a.Issued(); count != want+1 || scope != "read write" {
			t.Errorf("%d tokens for %q", count, scope)
		}
		a.Remote.SetKey("revoked") // the next request gets another token, all others wait for it
	}
	if want := []string{"issued-token-4711-1", "issued-token-4711-2", "issued-token-4711-3"}; !slices.Equal(tokens.all, want) {
		t.Errorf("held %q", tokens.all)
	}
}

func TestExpiredTokensAreNotSent(t *testing.T) {
	a := &mcptest.Authority{Lifetime: 5} // tokens expire ten seconds earlier
	c, _ := authorized(t, a, a)
	s, _, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before, _ := a.Issued()
	if res, err := call(t, s, "http.key", ""); err != nil || !strings.HasPrefix(res.Text, "Bearer issued-token-4711-") {
		t.Errorf("got %+v, %v", res, err)
	}
	if after, _ := a.Issued(); after == before {
		t.Errorf("%d tokens", after)
	}
}

func TestFaultsOfAuthorities(t *testing.T) {
	a := &mcptest.Authority{}
	for want, serve := range map[string]http.Handler{
		"request a token: HTTP 401 Unauthorized: invalid_client; check oauth: its variables or token_url may be wrong": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.SetBasicAuth("client", "another")
			a.ServeHTTP(w, r)
		}),
		"request a token: HTTP 307 Temporary Redirect; check oauth: its variables or token_url may be wrong": http.RedirectHandler("/other", http.StatusTemporaryRedirect),
		"request a token: EOF":  http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"timed out after 300ms": http.HandlerFunc(silent),
		"HTTP 401 Unauthorized; check its headers": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.ServeHTTP(w, r)
			a.Remote.SetKey("never issued")
		}),
		"request a token: oauth2: ": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("<html>secret-0815"))
		}),
	} {
		c, tokens := authorized(t, a, serve)
		c.Timeout = time.Minute
		if strings.HasPrefix(want, "timed out") {
			c.Timeout = 300 * time.Millisecond
		}
		_, _, err := Start(t.Context(), c)
		if err == nil || !strings.HasPrefix(err.Error(), "MCP server test: start: "+want) || strings.Contains(err.Error(), "secret-0815") || strings.Contains(err.Error(), "4711") {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if count, _ := a.Issued(); len(tokens.all) > count {
			t.Errorf("held %q", tokens.all)
		}
	}
}
