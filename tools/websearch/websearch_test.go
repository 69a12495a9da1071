package websearch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/websearch"

	"github.com/google/go-cmp/cmp"
)

// asked is what a search service was sent.
type asked struct {
	body   map[string]any
	header http.Header
}

// service starts a search service that answers so, and equips a stage with it.
func service(t *testing.T, backend string, status int, response string) (*tooltest.Stage, *asked) {
	t.Helper()
	got := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got.header, got.body = r.Header, nil
		if err := json.Unmarshal(data, &got.body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, response)
	}))
	t.Cleanup(server.Close)
	s := tooltest.SetUp(t, "full", nil)
	s.Equip(func(env *tools.Env) {
		env.Search = websearch.Config{Backend: backend, URL: server.URL + "/mcp", Key: "k3y"}
	})
	return s, got
}

func TestRequestsToExaHaveAllArguments(t *testing.T) {
	const response = "event: message\ndata: {\"jsonrpc\": \"2.0\", \"method\": \"ping\"}\n\ndata: {\"result\": {\"content\": [{\"type\": \"text\", \"text\": \"found it\"}]}}\n\n"
	s, got := service(t, "exa", 200, response)
	s.Want(s.Call("websearch", tooltest.Args{"query": "go 1.26"}), tools.Completed, "found it")
	want := map[string]any{"jsonrpc": "2.0", "id": 1.0, "method": "tools/call", "params": map[string]any{
		"name": "web_search_exa", "arguments": map[string]any{"query": "go 1.26", "numResults": 8.0, "livecrawl": "fallback", "type": "auto", "contextMaxCharacters": 10000.0},
	}}
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Error(diff)
	}
	if got.header.Get("X-Api-Key") != "k3y" || !strings.Contains(got.header.Get("Accept"), "text/event-stream") {
		t.Errorf("sent %v", got.header)
	}
	s.Want(s.Call("websearch", tooltest.Args{"query": "x", "numResults": 3, "livecrawl": "preferred", "type": "deep", "contextMaxCharacters": 500}), tools.Completed)
	if diff := cmp.Diff(map[string]any{"query": "x", "numResults": 3.0, "livecrawl": "preferred", "type": "deep", "contextMaxCharacters": 500.0}, got.body["params"].(map[string]any)["arguments"]); diff != "" {
		t.Error(diff)
	}
	s.Want(s.Call("codesearch", tooltest.Args{"query": "cobra flags", "tokensNum": 1000}), tools.Completed, "found it")
	want["params"] = map[string]any{"name": "get_code_context_exa", "arguments": map[string]any{"query": "cobra flags", "tokensNum": 1000.0}}
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Error(diff)
	}
}

func TestJSONBackendRequest(t *testing.T) {
	s, got := service(t, "json", 200, `{"results": [{"title": "A\nB", "url": "https://a", "text": "first"}, {"title": "C"}]}`)
	out := s.Call("websearch", tooltest.Args{"query": "q"})
	s.Want(out, tools.Completed)
	if diff := cmp.Diff("Title: A B\nURL: https://a\nfirst\n\nTitle: C\nURL:", out.Output); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"kind": "web", "query": "q", "limit": 8.0}, got.body); diff != "" {
		t.Error(diff)
	}
	if got.header.Get("Authorization") != "Bearer k3y" {
		t.Errorf("sent %v", got.header)
	}
	s.Want(s.Call("codesearch", tooltest.Args{"query": "q"}), tools.Completed)
	if diff := cmp.Diff(map[string]any{"kind": "code", "query": "q"}, got.body); diff != "" {
		t.Error(diff)
	}
}

func TestSearchResponses(t *testing.T) {
	tests := []struct {
		name, backend string
		code          int
		response      string
		status        tools.Status
		want          string
	}{
		{"plain JSON", "exa", 200, `{"result": {"content": [{"text": "a"}, {"text": "b"}]}}`, tools.Completed, "a\n\nb"},
		{"nothing", "exa", 200, `{"result": {"content": []}}`, tools.Completed, "No results found; try different search terms."},
		{"an error of the protocol", "exa", 200, `{"error": {"code": -32000, "message": "no credits"}}`, tools.Failed, "websearch: search backend returned an error: no credits"},
		{"an error in a stream", "exa", 200, "data: {\"error\": {}}\n", tools.Failed, "returned an error: no error message"},
		{"an error of the tool", "exa", 200, `{"result": {"isError": true, "content": [{"text": "broken"}]}}`, tools.Failed, "search failed: broken"},
		{"no JSON", "exa", 200, "<html>", tools.Failed, "the search backend returned an invalid response"},
		{"JSON without an answer", "exa", 200, "{}", tools.Failed, "returned an invalid response"},
		{"an HTTP error", "exa", 401, "", tools.Failed, "search backend returned HTTP status 401 Unauthorized; retry later"},
		{"a redirect", "exa", 302, "", tools.Failed, "returned HTTP status 302 Found"},
		{"too much", "exa", 200, strings.Repeat("x", 5<<20), tools.Failed, "exceeds 4 MiB"},
		{"no results", "json", 200, `{"results": []}`, tools.Completed, "No results found"},
		{"an error", "json", 200, `{"error": "no credits"}`, tools.Failed, "returned an error: no credits"},
		{"another form", "json", 200, `{"results": "x"}`, tools.Failed, "returned an invalid response"},
		{"bytes that are no text", "json", 200, "{\"results\": [{\"text\": \"a\xff\"}]}", tools.Completed, "a\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := service(t, tt.backend, tt.code, tt.response)
			out := s.Call("websearch", tooltest.Args{"query": "q"})
			s.Want(out, tt.status, tt.want)
			if got := out.Metadata.HTTPStatus; got != tt.code && (tt.status == tools.Completed || tt.code != 200) {
				t.Errorf("HTTP status %d, want %d", got, tt.code)
			}
		})
	}
}

func TestSearchErrors(t *testing.T) {
	s, _ := service(t, "json", 200, `{}`)
	for want, in := range map[string]tooltest.Args{
		"query is empty": {"query": " "},
		"invalid numResults 101: must be between 1 and 100":            {"query": "q", "numResults": 101},
		`livecrawl: expected one of fallback, preferred, got "always"`: {"query": "q", "livecrawl": "always"},
		`type: expected one of auto, fast, deep, got "best"`:           {"query": "q", "type": "best"},
		"contextMaxCharacters must not be negative":                    {"query": "q", "contextMaxCharacters": -1},
		"invalid arguments: query: expected string, g":                 {"query": 3},
	} {
		s.Want(s.Call("websearch", in), tools.Failed, want)
	}
	s.Want(s.Call("codesearch", tooltest.Args{"query": "q", "tokensNum": 999}), tools.Failed, "invalid tokensNum 999: must be between 1000 and 50000")
	s.Deny("websearch", "*password*")
	s.Want(s.Call("websearch", tooltest.Args{"query": "my password is"}), tools.Denied, "m.yaml:4")
	s.Equip(func(env *tools.Env) { env.Search.URL = "http://127.0.0.1:1/" })
	s.Want(s.Call("websearch", tooltest.Args{"query": "q"}), tools.Failed, "search backend unreachable")
	s.Equip(func(env *tools.Env) { env.Search = websearch.Config{} })
	s.Want(s.Call("websearch", tooltest.Args{"query": "q"}), tools.Failed, `tool "websearch" is not available: no search backend is configured`)
}

func TestSearchConfigIsChecked(t *testing.T) {
	for _, c := range []websearch.Config{{}, {Backend: "exa", URL: "https://x/"}, {Backend: "json", URL: "http://127.0.0.1:8080/s", Key: "k"}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []websearch.Config{{Backend: "bing", URL: "https://x/"}, {Backend: "exa"}, {URL: "https://x/"}, {Backend: "json", URL: "file:///x"}, {Backend: "json", URL: "x"}} {
		if c.Check() == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func FuzzSearchResponses(f *testing.F) {
	for _, s := range []string{`{"result": {"content": [{"text": "a"}]}}`, "data: {\"error\": {\"message\": \"x\"}}\n", "data:\ndata: {}\n", `{"results": [{"title": "t", "url": "u", "text": "x"}], "error": ""}`, "data: [1]", "[]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, response []byte) {
		for name, read := range map[string]func([]byte) (string, error){"exa": websearch.ReadExa, "json": websearch.ReadResults} {
			if text, err := read(response); err != nil && text != "" {
				t.Errorf("%s: both %q and %v", name, text, err)
			}
		}
	})
}
