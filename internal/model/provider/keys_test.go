package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/proc/keys"
)

// Each request has the key of its time, in the header for its kind of key; a rejected one
// is replaced once, and the request sent again in full.
func TestKeysThatChange(t *testing.T) {
	const (
		chat     = `{"choices":[{"index":0,"message":{"content":"Done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":4}}`
		outcome  = `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}],"usage":{"input_tokens":10,"output_tokens":4}}`
		messages = `{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":6,"output_tokens":4}}`
	)
	for _, tt := range []struct{ kind, body, prefix, header, scheme string }{
		{"openai-compatible", chat, "any-", "Authorization", "Bearer "},
		{"openai-responses", outcome, "any-", "Authorization", "Bearer "},
		{"azure", chat, "eyJ", "Authorization", "Bearer "},
		{"azure", chat, "any-", "Api-Key", ""},
		{"anthropic", messages, "sk-ant-api-", "X-Api-Key", ""},
		{"anthropic", messages, "sk-ant-oat-", "Authorization", "Bearer "},
	} {
		t.Run(tt.kind+" "+tt.prefix, func(t *testing.T) {
			accepted, asked := tt.prefix+"2", 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				body, _ := io.ReadAll(r.Body)
				if !strings.Contains(string(body), "hello there") {
					t.Errorf("request %d has the body %q", asked, body)
				}
				if r.Header.Get(tt.header) != tt.scheme+accepted {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			source := keys.FromCommand(keys.Command{
				Args: []string{"bash", "-c", "echo x >>runs; echo " + tt.prefix + "$(grep -c . runs)"}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
			}, time.Now, func(string) {})
			m, err := provider.Open(provider.Config{Kind: tt.kind, BaseURL: server.URL + "/v1", Model: "m", Keys: source})
			if err != nil {
				t.Fatal(err)
			}
			send := func() error {
				_, err := m.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hello there"}}}, nil)
				return err
			}
			for range 2 { // the first with a key that is rejected
				if err := send(); err != nil {
					t.Error(err)
				}
			}
			accepted = tt.prefix + "9"
			if err := send(); model.ClassOf(err) != model.ClassAuth {
				t.Errorf("got %v", err)
			}
			if asked != 5 {
				t.Errorf("%d requests, want 5", asked)
			}
		})
	}
}
