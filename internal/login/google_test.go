package login

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/logintest"
)

// detour sends all requests to one server.
type detour struct{ to string }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(d.to)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

func TestGoogleExchangesTheTokenOfTheJob(t *testing.T) {
	clouds, url := serve(t)
	cloudless(t, githubJob(url))
	o, held := options(Options{IdentityProvider: logintest.IdentityProvider, ServiceAccount: logintest.ServiceAccount, HTTP: &http.Client{Transport: detour{url}}})
	g, err := o.Google()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if key, err := g.Keys.Key(t.Context()); err != nil || key != logintest.AccessToken {
			t.Fatalf("%q, %v", key, err)
		}
	}
	if n := clouds.Issued("impersonated"); n != 1 {
		t.Errorf("%d tokens were issued", n)
	}
	if !slices.Contains(*held, logintest.AccessToken) || !slices.Contains(*held, logintest.IDToken("https://iam.googleapis.com/"+logintest.IdentityProvider)) {
		t.Errorf("redacted: %q", *held)
	}
	if want := "the identity provider " + logintest.IdentityProvider + " for the OIDC token of GitHub"; g.Source != want {
		t.Errorf("source %q", g.Source)
	}
	g.Keys.Reject(t.Context(), logintest.AccessToken)
	if _, err := g.Keys.Key(t.Context()); err != nil || clouds.Issued("impersonated") != 2 {
		t.Errorf("after a rejection %d tokens were issued, %v", clouds.Issued("impersonated"), err)
	}
	for _, p := range clouds.Problems() {
		t.Error(p)
	}
}

func TestGoogleLoginsThatFail(t *testing.T) {
	_, url := serve(t)
	for _, test := range []struct {
		name, want string
		env        map[string]string
		o          Options
	}{
		{"another provider", "invalid OIDC token", nil, Options{IdentityProvider: logintest.IdentityProvider + "x"}},
		{"another account", "serviceAccounts.getAccessToken denied", nil, Options{IdentityProvider: logintest.IdentityProvider, ServiceAccount: "x@y"}},
		{"no token", "missing OIDC token", map[string]string{githubToken: ""}, Options{IdentityProvider: logintest.IdentityProvider}},
		{"no file", "/nonexistent: no such file", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}, Options{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cloudless(t, githubJob(url))
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			test.o.HTTP = &http.Client{Transport: detour{url}}
			o, _ := options(test.o)
			g, err := o.Google()
			if err == nil {
				_, err = g.Keys.Key(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
