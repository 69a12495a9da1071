package provider

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/logintest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

var update = flag.Bool("update", false, "write the golden requests")

var (
	half = 0.5
	png  = model.Attachment{Name: "plot.png", MIME: "image/png", Data: []byte("PNG")}
	pdf  = model.Attachment{Name: "spec.pdf", MIME: "application/pdf", Data: []byte("PDF")}
)

// full is a request that has everything that a provider may want otherwise.
func full() model.Request {
	return model.Request{
		System: "be good",
		Messages: []model.Message{
			{Role: model.User, Text: "look at this", Attachments: []model.Attachment{png, pdf}},
			{Role: model.Assistant, Text: "looking", Reasoning: "hm", Calls: []model.ToolCall{
				{ID: "call_1", Name: "bash", Input: `{"command":"ls <dir>"}`},
				{ID: "abcDEF123", Name: "read", Input: `{"filePath": "a`},
			}},
			{Role: model.ToolRole, CallID: "call_1", Tool: "bash", Text: "a b", Attachments: []model.Attachment{png}},
			{Role: model.ToolRole, CallID: "abcDEF123", Tool: "read", Text: "no such file", Failed: true},
			{Role: model.User, Text: "go on"},
			{Role: model.User, Text: "and hurry"},
			{Role: model.Assistant, Text: "done"},
			{Role: model.User, Text: "is it?"},
		},
		Tools: []model.ToolSpec{
			{Name: "bash", Description: "runs a command", Schema: map[string]any{
				"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
				"required": []any{"command"},
				"properties": map[string]any{
					"command": map[string]any{"type": "string"},
					"mode":    map[string]any{"const": "quick"},
					"level":   map[string]any{"type": "integer", "enum": []any{1, 2}, "exclusiveMinimum": 0},
				},
			}},
			{Name: "read", Schema: map[string]any{"type": "object"}},
		},
		Sampling: model.Sampling{MaxOutput: 2000, Temperature: &half, Effort: "minimal"}, CacheKey: "session-7",
		Output: map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}, "required": []any{"ok"}, "additionalProperties": false},
	}
}

// golden is what is compared of a request.
type golden struct {
	Wire   wiretest.Wire
	Query  string `json:",omitempty"`
	Header map[string]string
	Body   json.RawMessage
}

// sent are the headers that matter.
var sent = []string{"Authorization", "Api-Key", "X-Api-Key", "X-Team", "Anthropic-Version", "X-Grok-Conv-Id", "Http-Referer", "X-Title", "User-Agent"}

// detour sends every request to the loopback server, whatever its host, so that
// what is asked of the real host can be seen.
type detour struct{ to *url.URL }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Host == "" { // signatures include it
		r.Host = r.URL.Host
	}
	r.URL.Scheme, r.URL.Host = d.to.Scheme, d.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// capture sends req by the model that c opens and returns what came.
func capture(t *testing.T, c Config, req model.Request) wiretest.Request {
	t.Helper()
	s, err := script.Parse([]byte("version: 1\nturns: [{text: a}, {text: b}, {text: c}, {text: d}, {text: e}]"), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := wiretest.New(s)
	server.Keep = true
	clouds := logintest.New(server)
	served := httptest.NewServer(clouds)
	defer served.Close()
	to, err := url.Parse(served.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.HTTPClient = &http.Client{Transport: detour{to}}
	if c.AWS == nil && c.Keys == nil {
		c.APIKey = "sk-1"
	}
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(server.Problems(), clouds.Problems()...) {
		t.Error(p)
	}
	requests := server.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests came, want 1", len(requests))
	}
	return requests[0]
}

func TestEachProvidersRequest(t *testing.T) {
	for _, model := range []string{
		"openai/gpt-5-mini", "openai/gpt-4.1", "openai-responses/o4-mini",
		"anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-6", "anthropic/claude-3-5-haiku-latest", "anthropic/claude-next-7",
		"google/gemini-3-pro", "google/gemini-2.0-flash", "openrouter/anthropic/claude-sonnet-4.5", "openrouter/openai/gpt-5", "openrouter/google/gemini-2.5-pro", "openrouter/mistralai/devstral",
		"mistral/devstral-medium", "groq/openai/gpt-oss-120b", "groq/meta-llama/llama-4-scout", "deepseek/deepseek-chat",
		"xai/grok-4", "xai/grok-3-mini", "xai/grok-4.3", "azure/my-deployment",
		"together/openai/gpt-oss-20b", "fireworks/accounts/fireworks/models/glm-4p6", "cerebras/zai-glm-4.6", "mistral/mistral-small-latest",
		"bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "vertex/claude-opus-4-6@20260205",
		"ollama/qwen3:8b", "vllm/qwen3", "lmstudio/qwen3", "openai-compatible/some-model",
	} {
		t.Run(model, func(t *testing.T) {
			kind, name, _ := strings.Cut(model, "/")
			c := Config{Kind: kind, Model: name, UserAgent: "millhand/v1", Header: map[string]string{"X-Team": "build"}}
			switch kind {
			case "azure":
				c.BaseURL, c.Query = "https://mine.openai.azure.com", map[string]string{"api-version": "v1"}
			case "openai-compatible":
				c.BaseURL = "https://models.test/v1"
			case "bedrock":
				c.AWS = signed()
			case "vertex":
				c.Region, c.Project = "europe-west1", "project"
			}
			got := capture(t, c, full())
			compare(t, strings.NewReplacer("/", "-", ":", "-", "@", "-").Replace(model), got)
		})
	}
}

// TestEffort looks at what an effort becomes, in the field that bears it.
func TestEffort(t *testing.T) {
	tests := []struct{ model, effort, path, want string }{
		{"openai/gpt-5-mini", "minimal", "reasoning", `{"effort":"minimal","summary":"auto"}`},
		{"openai/gpt-5.1", "minimal", "reasoning", `{"effort":"low","summary":"auto"}`},
		{"openai/gpt-5.1", "none", "reasoning", `{"effort":"none","summary":"auto"}`},
		{"openai/gpt-5.1", "xhigh", "reasoning", `{"effort":"high","summary":"auto"}`},
		{"openai/gpt-5.5", "xhigh", "reasoning", `{"effort":"xhigh","summary":"auto"}`},
		{"openai/gpt-5.5", "max", "reasoning", `{"effort":"xhigh","summary":"auto"}`},
		{"openai/gpt-5.6-sol", "max", "reasoning", `{"effort":"max","summary":"auto"}`},
		{"openai/gpt-5.2-codex", "none", "reasoning", `{"effort":"low","summary":"auto"}`},
		{"openai/gpt-5-nano", "none", "reasoning", `{"effort":"minimal","summary":"auto"}`},
		{"openai-compatible/gpt-5.6-sol", "none", "reasoning_effort", `"none"`},
		{"openai-compatible/house", "max", "reasoning_effort", `"max"`},
		{"anthropic/claude-opus-4-6", "xhigh", "output_config", `{"effort":"high"}`},
		{"anthropic/claude-opus-4-6", "max", "output_config", `{"effort":"max"}`},
		{"anthropic/claude-opus-4-7", "xhigh", "output_config", `{"effort":"xhigh"}`},
		{"anthropic/claude-opus-4-7", "none", "output_config", ``},
		{"anthropic/claude-opus-4-7", "none", "thinking", `{"type":"disabled"}`},
		{"anthropic/claude-sonnet-4-5", "max", "thinking", `{"budget_tokens":32000,"type":"enabled"}`},
		{"anthropic/claude-sonnet-4-5", "none", "thinking", ``},
		{"google/gemini-3.1-pro-preview", "minimal", "reasoning_effort", `"low"`},
		{"google/gemini-3.7-flash", "minimal", "reasoning_effort", `"low"`},
		{"google/gemini-3.7-flash", "max", "reasoning_effort", `"high"`},
		{"google/gemini-3.7-flash", "low", "temperature", ``},
		{"google/gemini-3.5-flash", "minimal", "reasoning_effort", `"minimal"`},
		{"google/gemini-3.5-flash", "low", "temperature", `0.5`},
		{"google/gemini-2.5-flash", "none", "reasoning_effort", `"none"`},
		{"openrouter/openai/gpt-5.5", "max", "reasoning", `{"effort":"xhigh"}`},
		{"deepseek/deepseek-v4-pro", "none", "thinking", `{"type":"disabled"}`},
		{"deepseek/deepseek-v4-pro", "none", "reasoning_effort", ``},
		{"deepseek/deepseek-v4-pro", "xhigh", "reasoning_effort", `"max"`},
		{"ollama/qwen3", "none", "reasoning_effort", `"none"`},
		{"openai/o4-mini", "high", "reasoning", `{"effort":"high","summary":"auto"}`},
		{"openai/gpt-5", "", "reasoning", `{"summary":"auto"}`},
		{"openai/gpt-4.1", "high", "reasoning_effort", ``},
		{"openai/gpt-5-chat-latest", "", "reasoning_effort", ``},
		{"azure/gpt-5", "high", "reasoning", `{"effort":"high","summary":"auto"}`},
		{"azure/ours", "high", "reasoning_effort", `"high"`},
		{"anthropic/claude-sonnet-4-5", "high", "thinking", `{"budget_tokens":16000,"type":"enabled"}`},
		{"anthropic/claude-sonnet-4-5", "low", "thinking", `{"budget_tokens":4000,"type":"enabled"}`},
		{"anthropic/claude-sonnet-4-5", "low", "temperature", ``},
		{"anthropic/claude-sonnet-4-5", "minimal", "thinking", ``},
		{"anthropic/claude-opus-4-6", "high", "thinking", `{"display":"summarized","type":"adaptive"}`},
		{"anthropic/claude-opus-4-6", "minimal", "output_config", `{"effort":"low"}`},
		{"anthropic/claude-3-5-haiku", "high", "thinking", ``},
		{"google/gemini-3-pro", "minimal", "reasoning_effort", `"low"`},
		{"google/gemini-2.0-flash", "high", "reasoning_effort", ``},
		{"openrouter/openai/gpt-5", "high", "reasoning", `{"effort":"high"}`},
		{"deepseek/deepseek-chat", "low", "thinking", `{"type":"enabled"}`},
		{"deepseek/deepseek-chat", "minimal", "reasoning_effort", `"low"`},
		{"deepseek/deepseek-chat", "low", "reasoning_effort", `"low"`},
		{"deepseek/deepseek-chat", "medium", "reasoning_effort", `"high"`},
		{"xai/grok-4", "high", "reasoning_effort", ``},
		{"xai/grok-3-mini", "medium", "reasoning_effort", `"low"`},
		{"xai/grok-3-mini", "high", "reasoning_effort", `"high"`},
		{"xai/grok-4.3", "medium", "reasoning_effort", `"medium"`},
		{"groq/openai/gpt-oss-20b", "minimal", "reasoning_effort", `"low"`},
		{"groq/llama-3.3-70b", "high", "reasoning_effort", ``},
		{"mistral/magistral", "high", "reasoning_effort", ``},
		{"mistral/mistral-small-latest", "minimal", "reasoning_effort", `"none"`},
		{"mistral/mistral-medium-3-5", "medium", "reasoning_effort", `"high"`},
		{"mistral/mistral-medium-2508", "high", "reasoning_effort", ``},
		{"cerebras/gpt-oss-120b", "minimal", "reasoning_effort", `"low"`},
		{"cerebras/llama3.1-8b", "high", "reasoning_effort", ``},
		{"together/openai/gpt-oss-120b", "high", "reasoning_effort", `"high"`},
		{"ollama/qwen3", "minimal", "reasoning_effort", `"low"`},
	}
	for _, test := range tests {
		t.Run(test.model+" "+test.effort+" "+test.path, func(t *testing.T) {
			kind, name, _ := strings.Cut(test.model, "/")
			req := model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}, Sampling: model.Sampling{Effort: test.effort, Temperature: &half}}
			c := Config{Kind: kind, Model: name}
			switch kind {
			case "azure":
				c.BaseURL = "https://mine.openai.azure.com"
			case "openai-compatible":
				c.BaseURL = "https://models.test/v1"
			}
			var body map[string]json.RawMessage
			if err := json.Unmarshal(capture(t, c, req).Body, &body); err != nil {
				t.Fatal(err)
			}
			got := string(body[test.path])
			if got != "" {
				sorted, err := json.Marshal(decoded(t, `{"x":`+got+`}`)["x"])
				if err != nil {
					t.Fatal(err)
				}
				got = string(sorted)
			}
			if got != test.want {
				t.Errorf("%s is %s, want %s", test.path, got, test.want)
			}
		})
	}
}

// TestCacheKeysFit holds the keys of long sessions to what providers take.
func TestCacheKeysFit(t *testing.T) {
	long := strings.Repeat("fix-the-build.backend-services.", 5)
	for name, field := range map[string]string{"openai/gpt-5-mini": "prompt_cache_key", "openai/gpt-4.1": "prompt_cache_key", "azure/d": "prompt_cache_key", "openrouter/openai/gpt-5": "prompt_cache_key", "xai/grok-4": ""} {
		kind, id, _ := strings.Cut(name, "/")
		seen := map[string]bool{}
		for _, key := range []string{long + "1", long + "2", long + "1", strings.Repeat("é", 40)} {
			c := Config{Kind: kind, Model: id}
			if kind == "azure" {
				c.BaseURL = "https://mine.openai.azure.com"
			}
			got := capture(t, c, model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}, CacheKey: key})
			sent := got.Header.Get("X-Grok-Conv-Id")
			if field != "" {
				sent, _ = decoded(t, string(got.Body))[field].(string)
			}
			if sent == "" || len(sent) > 64 {
				t.Errorf("%s: the key is %q", name, sent)
			}
			seen[sent] = true
		}
		if len(seen) != 3 {
			t.Errorf("%s: three sessions have the keys %v", name, seen)
		}
	}
}

func compare(t *testing.T, name string, got wiretest.Request) {
	t.Helper()
	g := golden{Wire: got.Wire, Query: got.Query, Header: map[string]string{}, Body: got.Body}
	for _, h := range sent {
		if v := got.Header.Get(h); v != "" {
			g.Header[h] = v
		}
	}
	var body any // sorts the names
	if err := json.Unmarshal(got.Body, &body); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"wire": g.Wire, "query": g.Query, "header": g.Header, "body": body}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// TestEveryKindPlaysAScript holds a conversation with each kind: what its
// dialect does to requests must not change what is answered.
func TestEveryKindPlaysAScript(t *testing.T) {
	for _, kind := range kinds.Names() {
		switch kind {
		case "mistral": // the server reports usage only on request, and the request must not have the field there
			continue
		case "bedrock", "vertex": // not the paths and streams of the maker's API: see TestEachProvidersRequest
			continue
		}
		t.Run(kind, func(t *testing.T) {
			wiretest.ConformScript(t, func(base string, deadline time.Duration) model.Model {
				m, err := Open(Config{Kind: kind, BaseURL: base, Model: "m", HeaderTimeout: deadline, IdleTimeout: deadline})
				if err != nil {
					t.Fatal(err)
				}
				return m
			})
		})
	}
}

func TestEveryKindIsComplete(t *testing.T) {
	for _, name := range kinds.Names() {
		k, ok := Lookup(name)
		if !ok || !k.Keyless && k.Cloud == "" && len(k.KeyEnv) == 0 {
			t.Errorf("%s has neither a login nor a variable for its key: %+v", name, k)
		}
	}
	names := slices.Sorted(slices.Values(kinds.Names()))
	if len(slices.Compact(names)) != len(kinds.Names()) {
		t.Errorf("a name stands twice: %v", names)
	}
	if k, ok := Lookup("gemini"); !ok || k.Name != "google" {
		t.Errorf("gemini is %v", k.Name)
	}
	if _, ok := Lookup("nobody"); ok {
		t.Error("nobody is a kind")
	}
}

func TestOpenErrors(t *testing.T) {
	for want, c := range map[string]Config{
		`unknown provider kind "nobody" (known kinds: openai, `: {Kind: "nobody"},
		"azure requires a base URL":                             {Kind: "azure"},
		"bedrock requires a base URL":                           {Kind: "bedrock"},
		"bedrock: the base URL must not have a path":            {Kind: "bedrock", BaseURL: "https://gateway.test/bedrock", APIKey: "x"},
		"bedrock has only models of Anthropic":                  {Kind: "bedrock", BaseURL: "https://gateway.test", Model: "amazon.nova-pro-v1:0"},
		"vertex requires a base URL":                            {Kind: "vertex"},
		"bedrock requires a login or a key":                     {Kind: "bedrock", BaseURL: "https://gateway.test", Model: "anthropic.claude-x"},
		"openai-compatible requires a base URL":                 {Kind: "openai-compatible"},
	} {
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", c, err, want)
		}
	}
}

func TestBaseURLsAreCompleted(t *testing.T) {
	tests := []struct{ kind, base, want string }{
		{"ollama", "localhost", "http://localhost:11434/v1"},
		{"ollama", "0.0.0.0:999", "http://127.0.0.1:999/v1"},
		{"ollama", "https://ollama.test/", "https://ollama.test:11434/v1"},
		{"ollama", "https://ollama.test/v1", "https://ollama.test/v1"},
		{"azure", "https://x.openai.azure.com/", "https://x.openai.azure.com/openai/v1"},
		{"azure", "https://x.openai.azure.com/openai/deployments/d", "https://x.openai.azure.com/openai/deployments/d"},
		{"google", "https://proxy.test/", "https://proxy.test/v1beta/openai"},
		{"google", "https://proxy.test/v1beta", "https://proxy.test/v1beta/openai"},
		{"google", "https://proxy.test/g/openai", "https://proxy.test/g/openai"},
		{"vllm", "http://gpu:8000/v1", "http://gpu:8000/v1"},
	}
	for _, test := range tests {
		k, _ := Lookup(test.kind)
		if got := k.base(test.base); got != test.want {
			t.Errorf("%s, %s: got %s, want %s", test.kind, test.base, got, test.want)
		}
	}
}

// TestOpenAICompatibleServer makes sure that a base URL of one's own
// gets Chat Completions, whatever the model is called.
func TestOpenAICompatibleServer(t *testing.T) {
	got := capture(t, Config{Kind: "openai", BaseURL: "http://gateway.test/v1", Model: "gpt-5-mini"}, full())
	if got.Wire != wiretest.Chat || bytes.Contains(got.Body, []byte("prompt_cache_key")) || bytes.Contains(got.Body, []byte("temperature")) {
		t.Errorf("on %s: %s", got.Wire, got.Body)
	}
}

func TestMaxTokensFollowTheNameOfTheModel(t *testing.T) {
	req := model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}
	limits := map[string]int{}
	for name, known := range map[string]int{
		"claude-3-haiku-20240307": 0, "claude-3-5-sonnet": 0, "claude-opus-4-1": 0, "claude-sonnet-4-20250514": 0, "claude-haiku-4-5": 0, "claude-next": 0, "claude-known": 123,
	} {
		var body struct {
			MaxTokens int `json:"max_tokens"`
		}
		if err := json.Unmarshal(capture(t, Config{Kind: "anthropic", Model: name, MaxOutput: known}, req).Body, &body); err != nil {
			t.Fatal(err)
		}
		limits[name] = body.MaxTokens
	}
	want := map[string]int{"claude-3-haiku-20240307": 4096, "claude-3-5-sonnet": 8192, "claude-opus-4-1": 32_000, "claude-sonnet-4-20250514": 32_000, "claude-haiku-4-5": 64_000, "claude-next": 64_000, "claude-known": 123}
	if !maps.Equal(want, limits) {
		t.Errorf("got %v, want %v", limits, want)
	}
}
