package githubapp

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/testing/githubapptest"
)

// serve returns a server with an app, whose clock is ahead of the app's by a duration.
func serve(t *testing.T, ahead time.Duration) *githubapptest.Server {
	t.Helper()
	s, err := githubapptest.New(func() time.Time { return time.Now().Add(ahead) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// settings are those of an app that a test may change.
type settings struct {
	id, api string
	key     *rsa.PrivateKey
	now     func() time.Time
	sleep   clock.Sleep
}

// of returns the app of a server after a change of its settings.
func of(t *testing.T, s *githubapptest.Server, change func(*settings)) *App {
	t.Helper()
	key, err := ParseKey(s.Key())
	if err != nil {
		t.Fatal(err)
	}
	c := settings{githubapptest.ID, s.URL + "/api/v3", key, time.Now, func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }}
	change(&c)
	app, err := New(c.id, c.key, forge.Options{Server: c.api, API: c.api, Now: c.now, Sleep: c.sleep})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func TestEachOwnerGetsATokenOfItsOwn(t *testing.T) {
	s := serve(t, 0)
	app := of(t, s, func(*settings) {})
	for _, owner := range []string{"org-acme", "tess"} {
		token, err := app.Token(t.Context(), owner)
		if err != nil || !s.Accepts(owner, token.Value) || s.Mints(owner) != 1 || token.Permissions["contents"] != "write" {
			t.Errorf("%s: token %v (%v)", owner, token, err)
		}
		if left := time.Until(token.Expires); left < 50*time.Minute || left > time.Hour {
			t.Errorf("%s: it expires in %s", owner, left)
		}
	}
}

func TestRefusedTokensAreErrorsWithAReason(t *testing.T) {
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ahead  time.Duration
		change func(*settings)
		owner  string
		want   string // "" for a token
	}{
		"a clock that is 50s behind": {50 * time.Second, func(*settings) {}, "tess", ""},
		"a clock that is 50s ahead":  {-50 * time.Second, func(*settings) {}, "tess", ""},
		"a clock that is 1h behind":  {time.Hour, func(*settings) {}, "tess", "status 401: 'Expiration time' claim"},
		"another key":                {0, func(c *settings) { c.key = stranger }, "tess", "status 401: a JSON web token could not be decoded; check the id and the key of the app"},
		"another app":                {0, func(c *settings) { c.id = "1" }, "tess", "integration not found"},
		"another owner":              {0, func(*settings) {}, "none", "find the installation of the GitHub App for none: not installed there"},
		"an owner with a slash":      {0, func(*settings) {}, "none/../tess", "invalid name"},
		"no API":                     {0, func(c *settings) { c.api += "/x" }, "tess", "not installed there"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := of(t, serve(t, c.ahead), c.change).Token(t.Context(), c.owner)
			if (token.Value == "") != (c.want != "") || (err != nil) != (c.want != "") {
				t.Fatalf("token %v, error %v", token, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// TestRequestsAreRepeatedForALimitedTime repeats requests that are lost or refused for a while, for a limited time.
func TestRequestsAreRepeatedForALimitedTime(t *testing.T) {
	var waits time.Duration // by which the clock of both is ahead
	now := func() time.Time { return time.Now().Add(waits) }
	s, err := githubapptest.New(now, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fault    http.HandlerFunc
		failures int
		wait     time.Duration // at least
		want     string        // "" for a token
	}{
		"overloaded":       {refusal(http.StatusServiceUnavailable, ""), 4, 7 * time.Second, ""},
		"cut off":          {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, time.Second, ""},
		"a limit":          {refusal(http.StatusForbidden, "90"), 1, 90 * time.Second, ""},
		"another limit":    {refusal(http.StatusTooManyRequests, ""), 1, time.Minute, ""},
		"down":             {refusal(http.StatusBadGateway, ""), 5, 7 * time.Second, "GitHub is unavailable: find the installation of the GitHub App for tess: "},
		"for a long while": {refusal(http.StatusForbidden, "3600"), 1, 0, "responded with status 403; retry after "},
		"forbidden":        {refusal(http.StatusForbidden, ""), 1, 0, "status 403"},
	} {
		left := c.failures
		tap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if left--; left >= 0 {
				c.fault(w, r)
				return
			}
			s.Config.Handler.ServeHTTP(w, r)
		}))
		waits = 0
		app := of(t, s, func(o *settings) {
			o.api = tap.URL + "/api/v3"
			o.now, o.sleep = now, func(_ context.Context, d time.Duration) error { waits += d; return nil }
		})
		token, err := app.Token(t.Context(), "tess")
		tap.Close()
		later := c.want != "" && name != "forbidden"
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrUnavailable) != later || waits < c.wait-time.Second || waits > 2*c.wait+time.Second {
			t.Errorf("%s: token %v, error %v after %s", name, token, err, waits)
		}
	}
	s.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	app := of(t, s, func(o *settings) {
		o.sleep = func(ctx context.Context, _ time.Duration) error { cancel(stop); return context.Cause(ctx) }
	})
	if _, err := app.Token(ctx, "tess"); !errors.Is(err, stop) {
		t.Errorf("canceled: %v", err)
	}
}

func refusal(status int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
	}
}

// The JWT does not follow redirects, and a response is not trusted.
func TestHostileServers(t *testing.T) {
	s := serve(t, 0)
	for name, response := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"no JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no token": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) },
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		},
	} {
		other := httptest.NewServer(response)
		app := of(t, s, func(c *settings) { c.api = other.URL + "/api/v3" })
		if token, err := app.Token(t.Context(), "tess"); err == nil {
			t.Errorf("%s: token %v", name, token)
		}
		other.Close()
	}
	if s.Mints("tess") != 0 {
		t.Error("the other server got the JWT")
	}
}

// TestWhatGhinstallationLoses shows why Sign replaces its claims: a clock that is 50 seconds ahead. Where it succeeds with a
// newer ghinstallation, only client IDs need it.
func TestWhatGhinstallationLoses(t *testing.T) {
	s := serve(t, -50*time.Second)
	transport, err := ghinstallation.NewAppsTransport(http.DefaultTransport, 4711, []byte(s.Key()))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: transport}).Get(s.URL + "/api/v3/users/tess/installation")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d for the claims of ghinstallation", res.StatusCode)
	}
}

func TestParseKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for name, good := range map[string]string{"PKCS 8": text, "on one line": strings.ReplaceAll(text, "\n", `\n`), "with space": "\n" + text + "\n\n"} {
		if got, err := ParseKey(good); err != nil || !got.Equal(key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bad := range map[string]string{
		"no PEM": "hunter2hunter2", "no key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("hunter2")})),
	} {
		if _, err := ParseKey(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
