package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/millhand/millhand/internal/login"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/proc/keys"
	"github.com/millhand/millhand/internal/testing/logintest"
)

// signed is a login to AWS whose signatures the loopback server accepts.
func signed() *login.AWS {
	provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: logintest.AccessID, SecretAccessKey: logintest.Secret, SessionToken: logintest.Session}, nil
	})
	return &login.AWS{Config: aws.Config{Region: "eu-central-1", Credentials: provider}}
}

var hello = model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}

// Responses of Bedrock that are no stream of events, or end early.
func TestBedrockFails(t *testing.T) {
	start := string(logintest.Message(`{"type":"message_start","message":{"usage":{"input_tokens":30,"output_tokens":1}}}`))
	for _, test := range []struct {
		name, want string
		status     int
		body       string
		class      model.ErrorClass
	}{
		{"throttled", "Too many tokens", 429, `{"message":"Too many tokens, please wait before trying again."}`, model.ClassRate},
		{"denied", "not authorized to perform", 403, `{"message":"User is not authorized to perform: bedrock:InvokeModelWithResponseStream"}`, model.ClassAuth},
		{"too long", "Input is too long", 400, `{"message":"Input is too long for requested model."}`, model.ClassContext},
		{"throttled in the response", "slow down", 200, start + string(logintest.Exception("throttlingException", "slow down")), model.ClassRate},
		{"a failure in the response", "internal", 200, start + string(logintest.Exception("internalServerException", "internal")), model.ClassUnavailable},
		{"cut off", "response", 200, start[:len(start)/2], model.ClassProtocol},
		{"a wrong checksum", "response", 200, start[:len(start)-1] + "x", model.ClassUnavailable},
		{"no end", "response", 200, start, model.ClassProtocol},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if w.Header().Set("Content-Type", "application/json"); test.status == 200 {
					w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			m, err := Open(Config{Kind: "bedrock", BaseURL: server.URL, Model: "anthropic.claude-sonnet-4-5-20250929-v1:0", AWS: signed()})
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Stream(t.Context(), hello, nil)
			var e *model.Error
			if !errors.As(err, &e) || e.Class != test.class || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s, %q", err, test.class, test.want)
			}
		})
	}
}

// Without credentials no request is sent.
func TestBedrockWithoutCredentials(t *testing.T) {
	for _, test := range []struct {
		err   error
		class model.ErrorClass
	}{
		{errors.New("no credentials"), model.ClassAuth},
		{&keys.Unavailable{Err: errors.New("503")}, model.ClassUnavailable},
	} {
		a := signed()
		a.Config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, test.err })
		m, err := Open(Config{Kind: "bedrock", BaseURL: "http://127.0.0.1:1", Model: "anthropic.claude-sonnet-4-5", AWS: a})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Stream(t.Context(), hello, nil)
		var e *model.Error
		if !errors.As(err, &e) || e.Class != test.class || !strings.Contains(err.Error(), test.err.Error()) {
			t.Errorf("error %v, want %s", err, test.class)
		}
	}
}

// Credentials that have expired, or were replaced by others, are replaced once, and the request is sent again.
func TestBedrockReplacesRejectedCredentials(t *testing.T) {
	for _, test := range []struct {
		name, kind, body string
		accepted         bool // the second ones
		requests         int
	}{
		{"expired", "ExpiredTokenException:http://internal.amazon.com/coral/com.amazon.coral.service/", `{"message":"The security token included in the request is expired"}`, true, 2},
		{"unknown", "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`, true, 2},
		{"a response without a type", "", `{"message":"The security token included in the request is expired"}`, true, 2},
		{"the new ones, too", "ExpiredTokenException", `{"message":"expired"}`, false, 2},
		{"a right that is missing", "AccessDeniedException", `{"message":"User is not authorized"}`, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests, issued := 0, 0
			clouds := logintest.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: "+`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`+"\n\n"+
					"data: "+`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`+"\n\n"+"data: "+`{"type":"message_stop"}`+"\n\n")
			}))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests++; requests > 1 && test.accepted {
					clouds.ServeHTTP(w, r)
					return
				}
				w.Header().Set("X-Amzn-ErrorType", test.kind)
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			a := &login.AWS{Config: aws.Config{Region: "eu-central-1", Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				issued++
				return aws.Credentials{AccessKeyID: logintest.AccessID, SecretAccessKey: logintest.Secret, SessionToken: logintest.Session, CanExpire: true, Expires: time.Now().Add(time.Hour)}, nil
			}))}}
			m, err := Open(Config{Kind: "bedrock", BaseURL: server.URL, Model: "anthropic.claude-sonnet-4-5", AWS: a})
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Stream(t.Context(), hello, nil)
			var e *model.Error
			if ok := test.accepted && test.requests == 2; ok != (err == nil) || err != nil && (!errors.As(err, &e) || e.Class != model.ClassAuth) {
				t.Errorf("error %v", err)
			}
			if requests != test.requests || issued != test.requests {
				t.Errorf("%d requests with %d credentials, want %d", requests, issued, test.requests)
			}
			for _, p := range clouds.Problems() {
				t.Error(p)
			}
		})
	}
}

// Variables of Google's library that contradict each other are an error, not a panic.
func TestVertexWithoutATransport(t *testing.T) {
	t.Setenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "example.com")
	t.Setenv("GOOGLE_API_USE_MTLS_ENDPOINT", "always")
	_, err := Open(Config{Kind: "vertex", BaseURL: "https://aiplatform.googleapis.com", Model: "claude-sonnet-4-5", Region: "global", Project: "p", APIKey: "t"})
	if err == nil || !strings.Contains(err.Error(), "connect to Google Cloud: ") || !strings.Contains(err.Error(), "GOOGLE_CLOUD_UNIVERSE_DOMAIN") {
		t.Errorf("error %v", err)
	}
}

// entra returns a login to Azure with the OIDC token of a job, for a loopback server, and the secrets
// that it announces.
func entra(t *testing.T, server, idToken string) (*login.Tokens, *[]string) {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	held := &[]string{}
	e, err := login.Options{
		TenantID: logintest.TenantID, ClientID: logintest.ClientID, TokenEnv: "T", Now: time.Now,
		Getenv: func(name string) string { return map[string]string{"T": idToken}[name] },
		Hold:   func(secret string) { *held = append(*held, secret) },
		HTTP:   &http.Client{Transport: detour{to}},
	}.Entra()
	if err != nil {
		t.Fatal(err)
	}
	return e, held
}

func TestAzureWithALogin(t *testing.T) {
	idToken := logintest.IDToken("api://AzureADTokenExchange")
	for _, name := range []string{"gpt-4.1", "gpt-5-mini"} {
		clouds := logintest.New(http.NotFoundHandler())
		server := httptest.NewServer(clouds)
		defer server.Close()
		e, held := entra(t, server.URL, idToken)
		got := capture(t, Config{Kind: "azure", BaseURL: "https://mine.openai.azure.com", Model: name, UserAgent: "millhand/v1", Keys: e.Keys}, full())
		if authorization := got.Header.Get("Authorization"); authorization != "Bearer "+logintest.EntraToken || got.Header.Get("Api-Key") != "" {
			t.Errorf("%s: the headers are %v", name, got.Header)
		}
		compare(t, "azure-entra-"+name, got)
		if !slices.Equal(*held, []string{idToken, logintest.EntraToken}) || clouds.Issued("entra") != 1 {
			t.Errorf("%s: %d tokens, redacted: %q", name, clouds.Issued("entra"), *held)
		}
	}
}

// Without a token no request is sent, and one that is rejected is replaced once.
func TestAzureWithoutALogin(t *testing.T) {
	valid := logintest.IDToken("api://AzureADTokenExchange")
	unavailable := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	for _, test := range []struct {
		name, idToken, want string
		entra               http.Handler // nil for one that works
		class               model.ErrorClass
		requests            int // to the model
	}{
		{"a refusal", "wrong", "login to Azure failed: invalid OIDC token", nil, model.ClassAuth, 0},
		{"an outage", valid, "login to Azure failed: the server responded with 503", unavailable, model.ClassUnavailable, 0},
		{"a role that is missing", valid, "PermissionDenied", nil, model.ClassAuth, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests := 0
			models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"error":{"code":"PermissionDenied","message":"PermissionDenied: the principal lacks the required data action"}}`))
			}))
			defer models.Close()
			if test.entra == nil {
				test.entra = logintest.New(http.NotFoundHandler())
			}
			server := httptest.NewServer(test.entra)
			defer server.Close()
			e, _ := entra(t, server.URL, test.idToken)
			m, err := Open(Config{Kind: "azure", BaseURL: models.URL, Model: "gpt-4.1", Keys: e.Keys})
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Stream(t.Context(), hello, nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Class != test.class || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %s, %q", err, test.class, test.want)
			}
			if requests != test.requests {
				t.Errorf("%d requests, want %d", requests, test.requests)
			}
		})
	}
}
