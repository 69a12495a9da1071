package login

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/proc/keys"
	"github.com/millhand/millhand/internal/testing/logintest"
)

// ofEntra is a job of GitHub with other variables.
func ofEntra(t *testing.T, url string, env map[string]string) {
	t.Helper()
	cloudless(t, githubJob(url))
	for name, value := range env {
		t.Setenv(name, value)
	}
}

func TestEntraExchangesTheTokenOfTheJob(t *testing.T) {
	clouds, url := serve(t)
	application := map[string]string{"AZURE_TENANT_ID": logintest.TenantID, "AZURE_CLIENT_ID": logintest.ClientID}
	secret := map[string]string{"AZURE_TENANT_ID": logintest.TenantID, "AZURE_CLIENT_ID": logintest.ClientID, "AZURE_CLIENT_SECRET": logintest.ClientSecret}
	token := map[string]string{"AZURE_ID_TOKEN": logintest.IDToken(entraAudience), githubURL: "", githubToken: ""}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(logintest.IDToken(entraAudience)), 0o600); err != nil {
		t.Fatal(err)
	}
	workload := map[string]string{"AZURE_TENANT_ID": logintest.TenantID, "AZURE_CLIENT_ID": logintest.ClientID, "AZURE_FEDERATED_TOKEN_FILE": file}
	for _, test := range []struct {
		name string
		env  map[string]string
		o    Options
		from string
	}{
		{"the application of the manifest", nil, Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID}, "the application " + logintest.ClientID + " for the OIDC token of GitHub"},
		{"the application of the environment", application, Options{}, "the application " + logintest.ClientID + " for the OIDC token of GitHub"},
		{"the token of GitLab", token, Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID, TokenEnv: "AZURE_ID_TOKEN"}, "the application " + logintest.ClientID + " for the OIDC token in AZURE_ID_TOKEN"},
		{"a secret", secret, Options{}, "the application in AZURE_CLIENT_ID with AZURE_CLIENT_SECRET"},
		{"a pod", workload, Options{}, "the application in AZURE_CLIENT_ID with AZURE_FEDERATED_TOKEN_FILE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ofEntra(t, url, test.env)
			test.o.HTTP = &http.Client{Transport: detour{url}}
			o, held := options(test.o)
			before := clouds.Issued("entra")
			e, err := o.Entra()
			if err != nil || e.Source != test.from {
				t.Fatalf("%+v, %v, want %s", e, err, test.from)
			}
			for range 2 {
				if key, err := e.Keys.Key(t.Context()); err != nil || key != logintest.EntraToken {
					t.Fatalf("%q, %v", key, err)
				}
			}
			if n := clouds.Issued("entra") - before; n != 1 {
				t.Errorf("%d tokens were issued", n)
			}
			if !slices.Contains(*held, logintest.EntraToken) || strings.Contains(test.from, "OIDC") && !slices.Contains(*held, logintest.IDToken(entraAudience)) {
				t.Errorf("redacted: %q", *held)
			}
			e.Keys.Reject(t.Context(), logintest.EntraToken)
			if _, err := e.Keys.Key(t.Context()); err != nil || clouds.Issued("entra")-before != 2 {
				t.Errorf("after a rejection %d tokens were issued, %v", clouds.Issued("entra")-before, err)
			}
		})
	}
	for _, p := range clouds.Problems() {
		t.Error(p)
	}
}

// The host of the endpoint, or else that of Entra, selects a national cloud: the servers accept only the scope and the
// OIDC token of theirs.
func TestEntraOfNationalClouds(t *testing.T) {
	clouds, url := serve(t)
	job := Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID}
	for _, test := range []struct{ endpoint, authority, audience, wrong string }{
		{"https://mine.openai.azure.com/openai/v1", "", "", ""},
		{"https://mine.openai.azure.us/openai/v1", "", "USGov", ""},
		{"https://mine.cognitiveservices.azure.us", "https://login.microsoftonline.us/", "USGov", ""},
		{"https://MINE.openai.azure.cn/openai/v1", "", "China", ""},
		{"https://mine.openai.azure.cn/openai/v1", "https://login.partner.microsoftonline.cn", "China", ""},
		{"https://gateway.test/v1", "https://login.microsoftonline.us", "USGov", ""},
		{"https://gateway.test/azure.us", "", "", ""},
		{"https://notazure.us", "", "", ""},
		{"https://mine.openai.azure.us/openai/v1", "https://login.microsoftonline.com", "USGov", "AADSTS70011"}, // the variable goes before
	} {
		for kind, env := range map[string]map[string]string{
			"token":  {},
			"secret": {"AZURE_TENANT_ID": logintest.TenantID, "AZURE_CLIENT_ID": logintest.ClientID, "AZURE_CLIENT_SECRET": logintest.ClientSecret},
		} {
			ofEntra(t, url, env)
			if test.authority != "" {
				t.Setenv("AZURE_AUTHORITY_HOST", test.authority)
			}
			o := Options{}
			if kind == "token" {
				o = job
			}
			o.Endpoint, o.HTTP = test.endpoint, &http.Client{Transport: detour{url}}
			o, held := options(o)
			e, err := o.Entra()
			if err != nil {
				t.Fatal(err)
			}
			before := len(clouds.Problems())
			key, err := e.Keys.Key(t.Context())
			switch {
			case test.wrong != "":
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("%+v, %s: error %v", test, kind, err)
				}
				continue
			case err != nil || key != logintest.EntraToken:
				t.Errorf("%+v, %s: %q, %v", test, kind, key, err)
			case kind == "token" && !slices.Contains(*held, logintest.IDToken(entraAudience+test.audience)):
				t.Errorf("%+v: redacted %q", test, *held)
			}
			for _, p := range clouds.Problems()[before:] {
				t.Errorf("%+v, %s: %v", test, kind, p)
			}
		}
	}
}

func TestEntraLoginsThatFail(t *testing.T) {
	_, url := serve(t)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer down.Close()
	application := Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID}
	other := application
	other.ClientID = logintest.TenantID
	for _, test := range []struct {
		name, want string
		env        map[string]string
		o          Options
		to         string // of requests to Entra; "" for the server that works
		later      bool
	}{
		{"another application", "login to Azure failed: AADSTS700016: application " + logintest.TenantID + " was not found.", nil, other, "", false},
		{"another tenant", "AADSTS90002: tenant example.com not found", nil, Options{TenantID: "example.com", ClientID: logintest.ClientID}, "", false},
		{"no tenant", "missing tenant or application of Azure: set AZURE_TENANT_ID", nil, Options{ClientID: logintest.ClientID}, "", false},
		{"a path", `invalid tenant "x/y"`, map[string]string{"AZURE_TENANT_ID": "x/y"}, Options{ClientID: logintest.ClientID}, "", false},
		{"no token", "missing OIDC token", map[string]string{githubToken: ""}, application, "", false},
		{"a token for others", "invalid OIDC token", map[string]string{"T": logintest.IDToken("others")}, Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID, TokenEnv: "T"}, "", false},
		{"a wrong secret", "AADSTS7000215: invalid client secret", map[string]string{"AZURE_TENANT_ID": logintest.TenantID, "AZURE_CLIENT_ID": logintest.ClientID, "AZURE_CLIENT_SECRET": "wrong"}, Options{}, "", false},
		{"a wrong job", "request an OIDC token: the server responded with 401", map[string]string{githubToken: "x"}, application, "", false},
		{"nothing", "no credentials in the variables of Azure", map[string]string{"AZURE_TOKEN_CREDENTIALS": "AzureCLICredential", "PATH": "/nonexistent"}, Options{}, "", false},
		{"an outage", "the server responded with 503", map[string]string{"T": "x"}, Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID, TokenEnv: "T"}, down.URL, true},
		{"an unreachable server", "connection refused", map[string]string{"T": "x"}, Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID, TokenEnv: "T"}, "http://127.0.0.1:1", true},
		{"an unreachable server, with a secret", "connection refused", map[string]string{"AZURE_TENANT_ID": logintest.TenantID, "AZURE_CLIENT_ID": logintest.ClientID, "AZURE_CLIENT_SECRET": "s"}, Options{}, "http://127.0.0.1:1", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			ofEntra(t, url, test.env)
			to := url
			if test.to != "" {
				to = test.to
			}
			test.o.HTTP = &http.Client{Transport: detour{to}}
			o, _ := options(test.o)
			e, err := o.Entra()
			if err == nil {
				_, err = e.Keys.Key(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), "Trace ID") {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if errors.As(err, new(*keys.Unavailable)) != test.later {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}

func TestALoginToEntraEndsWithItsContext(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer server.Close()
	defer close(hung)
	cloudless(t, map[string]string{"T": "x"})
	o, _ := options(Options{TenantID: logintest.TenantID, ClientID: logintest.ClientID, TokenEnv: "T", HTTP: &http.Client{Transport: detour{server.URL}}})
	e, err := o.Entra()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Keys.Key(ctx); err == nil {
		t.Error("a login without a response succeeded")
	}
}
