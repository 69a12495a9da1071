package openai

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model"
)

// refused sends one request to a server that responds with status, header and
// body, and returns the error.
func refused(t *testing.T, status int, header map[string]string, body string, change ...func(*Options)) *model.Error {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	o := Options{BaseURL: server.URL + "/v1", Model: "m"}
	for _, c := range change {
		c(&o)
	}
	_, err := New(o).Stream(t.Context(), model.Request{}, nil)
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("got error %v, want a classified one", err)
	}
	return failed
}

func TestStatusesAreClassified(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		body    string
		class   model.ErrorClass
		message string
	}{
		{"a wrong key", 401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, model.ClassAuth, "Incorrect API key provided (invalid_api_key)"},
		{"a forbidden key", 403, `{"error":{"message":"no access"}}`, model.ClassAuth, "no access"},
		{"no money, by status", 402, `{"error":{"message":"Insufficient credits","code":402}}`, model.ClassQuota, "Insufficient credits"},
		{"no money, by code", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.ClassQuota, "You exceeded"},
		{"no money, by type", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":null}}`, model.ClassQuota, "You exceeded"},
		{"too many requests", 429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, model.ClassRate, "Rate limit reached"},
		{"too many requests, in a list", 429, `[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]`, model.ClassRate, "Resource exhausted"},
		{"no such model", 404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, model.ClassUnknown, "does not exist"},
		{"no such model, as a bad request", 400, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, model.ClassUnknown, "does not exist"},
		{"no such model, in one word", 404, `{"error":"model 'x' not found, try pulling it first"}`, model.ClassUnknown, "try pulling it first"},
		{"a wrong path", 404, "404 page not found\n", model.ClassUnknown, "404 page not found"},
		{"a bad request", 400, `{"error":{"message":"Invalid value","param":"tools","code":"invalid_value"}}`, model.ClassRequest, "Invalid value (invalid_value)"},
		{"an unprocessable request", 422, `{"detail":"field required"}`, model.ClassRequest, "field required"},
		{"a bad request without a wrapper", 400, `{"object":"error","message":"bad tools","type":"BadRequestError","code":400}`, model.ClassRequest, "bad tools"},
		{"a method not allowed", 405, ``, model.ClassRequest, "Method Not Allowed"},
		{"a context too long, by code", 400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, model.ClassContext, "too long"},
		{"a context too long, OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages."}}`, model.ClassContext, ""},
		{"a context too long, Anthropic", 400, `{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, model.ClassContext, ""},
		{"a context too long, Gemini", 400, `[{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}]`, model.ClassContext, ""},
		{"a context too long, llama.cpp", 400, `{"error":{"message":"the request exceeds the available context size"}}`, model.ClassContext, ""},
		{"a context too long, behind a router", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"Input is too long for requested model.\"}"}}}`, model.ClassContext, "Input is too long"},
		{"a request too large", 413, `<html>Request Entity Too Large</html>`, model.ClassContext, "Request Entity Too Large"},
		{"a timeout of the server", 408, ``, model.ClassUnavailable, "Request Timeout"},
		{"a conflict", 409, ``, model.ClassUnavailable, "Conflict"},
		{"an internal error", 500, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, model.ClassUnavailable, "The server had an error"},
		{"a bad gateway that speaks HTML", 502, "<html>\r\n<h1>502 Bad Gateway</h1>\x00\x1b[0m\r\n</html>", model.ClassUnavailable, "<html> <h1>502 Bad Gateway</h1> [0m </html>"},
		{"a service that is down", 503, ``, model.ClassUnavailable, "Service Unavailable"},
		{"an overloaded service", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ClassUnavailable, "Overloaded"},
		{"a status of no name", 599, ``, model.ClassUnavailable, "no reason given"},
		{"a code of no name", 400, `{"error":{"code":"odd"}}`, model.ClassRequest, "odd"},
		{"an error of an odd form", 400, `{"error":[1,2]}`, model.ClassRequest, `{"error":[1,2]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := refused(t, test.status, nil, test.body)
			if got.Class != test.class || got.Status != test.status || got.RetryAfter != -1 {
				t.Errorf("got %+v, want class %s", got, test.class)
			}
			if !strings.Contains(got.Error(), test.message) {
				t.Errorf("error %q does not say %q", got, test.message)
			}
		})
	}
}

func TestErrorQuotesOnlyTheStart(t *testing.T) {
	got := refused(t, 500, nil, strings.Repeat("é", 1<<20))
	if n := len(got.Error()); n > 500 {
		t.Errorf("the error has %d bytes: %.600s", n, got)
	}
}

func TestErrorHasRequestID(t *testing.T) {
	got := refused(t, 500, map[string]string{"X-Request-Id": "req_123"}, "")
	if !strings.Contains(got.Error(), "req_123") {
		t.Errorf("error %q does not name the request", got)
	}
}

func TestARedirectIsReportedAndNotFollowed(t *testing.T) {
	got := refused(t, 307, map[string]string{"Location": "https://elsewhere.test/v2/chat/completions?key=secret"}, "")
	if got.Class != model.ClassRequest || !strings.Contains(got.Error(), "https://elsewhere.test/v2/chat/completions") || strings.Contains(got.Error(), "secret") {
		t.Errorf("got %v, want a refusal that names the place", got)
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	const key, header = "sk-verysecret", "header-secret"
	keyed := func(o *Options) {
		o.APIKey = key
		o.Header = map[string]string{"X-Api-Key": header, "X-Short": "401"}
	}
	got := refused(t, 401, map[string]string{"X-Request-Id": key}, `{"error":{"message":"wrong key sk-verysecret or header-secret, 401"}}`, keyed)
	for _, secret := range []string{key, header} {
		if strings.Contains(got.Error(), secret) {
			t.Errorf("error %q tells %s", got, secret)
		}
	}
	if !strings.Contains(got.Error(), "wrong key [key] or [header], 401") {
		t.Errorf("error %q does not tell the rest", got)
	}
}

// TestShortKeysDoNotGarbleErrors covers local servers, whose keys may be a word.
func TestShortKeysDoNotGarbleErrors(t *testing.T) {
	got := refused(t, 400, nil, `{"error":{"message":"lookup failed"}}`, func(o *Options) { o.APIKey = "k" })
	if !strings.Contains(got.Error(), "lookup failed") {
		t.Errorf("the error is %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		header map[string]string
		want   time.Duration
	}{
		{"nothing", nil, -1},
		{"seconds", map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{"zero", map[string]string{"Retry-After": "0"}, 0},
		{"a fraction", map[string]string{"Retry-After": " 0.5 "}, 500 * time.Millisecond},
		{"milliseconds come first", map[string]string{"Retry-After-Ms": "250", "Retry-After": "7"}, 250 * time.Millisecond},
		{"milliseconds that make no sense", map[string]string{"Retry-After-Ms": "soon", "Retry-After": "7"}, 7 * time.Second},
		{"a date", map[string]string{"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30 * time.Second},
		{"a date in an old form", map[string]string{"Retry-After": "Sunday, 01-Mar-26 12:00:30 GMT"}, 30 * time.Second},
		{"a date in the past", map[string]string{"Retry-After": "Sun, 01 Mar 2026 11:00:30 GMT"}, -1},
		{"a day", map[string]string{"Retry-After": "86400"}, 24 * time.Hour},
		{"absurd", map[string]string{"Retry-After": "1e300"}, 30 * 24 * time.Hour},
		{"infinite", map[string]string{"Retry-After": "Inf"}, 30 * 24 * time.Hour},
		{"negative", map[string]string{"Retry-After": "-5"}, -1},
		{"no number", map[string]string{"Retry-After": "NaN"}, -1},
		{"words", map[string]string{"Retry-After": "later"}, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := refused(t, 429, test.header, `{}`, func(o *Options) { o.Now = func() time.Time { return now } })
			if got.RetryAfter != test.want {
				t.Errorf("got %v, want %v", got.RetryAfter, test.want)
			}
		})
	}
	t.Run("a date without a clock", func(t *testing.T) {
		got := refused(t, 429, map[string]string{"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT"}, `{}`)
		if got.RetryAfter != -1 {
			t.Errorf("got %v, want -1", got.RetryAfter)
		}
	})
}

func TestFaultsOfTheConnectionAreUnavailable(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	torn := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer torn.Close()

	tests := map[string]string{
		"a closed port":           "http://" + closed,
		"torn before the headers": torn.URL,
	}
	for name, url := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{BaseURL: url + "/?key=secret"}).Stream(t.Context(), model.Request{}, nil)
			if model.ClassOf(err) != model.ClassUnavailable || !strings.Contains(err.Error(), "reach 127.0.0.1:") || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want a host that can't be reached", err)
			}
		})
	}
}

func TestAnInvalidBaseURLIsRejected(t *testing.T) {
	for _, base := range []string{"localhost:8080/v1", "ftp://model.test", "model.test/v1", "http://", ":", "http://a b/"} {
		_, err := New(Options{BaseURL: base}).Stream(t.Context(), model.Request{}, nil)
		if model.ClassOf(err) != model.ClassRequest || !strings.Contains(err.Error(), "base URL") {
			t.Errorf("%q: got %v, want a refusal of the base URL", base, err)
		}
	}
}
