package provider

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/millhand/millhand/internal/keys"
	"github.com/millhand/millhand/internal/login"
	"github.com/millhand/millhand/internal/login/logintest"
	"github.com/millhand/millhand/internal/model"
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
