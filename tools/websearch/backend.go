package websearch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/web"
)

// maxSearchResponse is the maximum size of a search response, in bytes.
const maxSearchResponse = 4 << 20

// Config configures the backend of websearch and codesearch. With the
// zero value these tools do not exist.
type Config struct {
	// Backend is the protocol: "exa", the JSON-RPC of Exa's server, or "json",
	// a POST of {"kind": "web" or "code", "query", "limit"} with the response
	// {"results": [{"title", "url", "text"}]}.
	Backend string
	URL     string
	Key     string // sent as x-api-key (exa) or as a bearer token (json); may be ""
}

// query is a webQuery or a codeQuery.
type query interface{ text() string }

type webQuery struct {
	Text       string
	Results    int
	Livecrawl  string
	Type       string
	Characters int
}

type codeQuery struct {
	Text   string
	Tokens int
}

func (q webQuery) text() string  { return q.Text }
func (q codeQuery) text() string { return q.Text }

// searcher is a search backend.
type searcher interface {
	search(context.Context, query) (string, error)
}

// Check returns an error if the configuration is invalid.
func (c Config) Check() error {
	if c.Backend == "" && c.URL == "" {
		return nil
	}
	if c.Backend != "exa" && c.Backend != "json" {
		return fmt.Errorf("unknown search backend %q: must be exa or json", c.Backend)
	}
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("invalid search backend url %q: must be an http or https URL", c.URL)
	}
	return nil
}

// backend returns the configured backend.
func (c Config) backend() (searcher, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	switch c.Backend {
	case "exa":
		return exa{c}, nil
	case "json":
		return jsonService{c}, nil
	}
	return nil, errors.New("no search backend is configured; use your own knowledge and the files in the workspace")
}

// exa speaks JSON-RPC like servers of the Model Context Protocol.
type exa struct{ config Config }

func (e exa) search(ctx context.Context, q query) (string, error) {
	name, arguments := "get_code_context_exa", map[string]any{"query": q.text()}
	switch q := q.(type) {
	case webQuery:
		name = "web_search_exa"
		arguments["numResults"], arguments["livecrawl"], arguments["type"], arguments["contextMaxCharacters"] = q.Results, q.Livecrawl, q.Type, q.Characters
	case codeQuery:
		arguments["tokensNum"] = q.Tokens
	}
	response, err := post(ctx, e.config.URL, map[string]string{"x-api-key": e.config.Key}, map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments},
	})
	if err != nil {
		return "", err
	}
	return readExa(response)
}

// rpcResponse is the response to a tools/call.
type rpcResponse struct {
	Result *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// readExa reads the text of a response: JSON, or an event stream, of which the
// first event that is a response counts.
func readExa(data []byte) (string, error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxSearchResponse+1)
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "data:")
		var a rpcResponse
		if ok && json.Unmarshal([]byte(strings.TrimSpace(line)), &a) == nil && (a.Result != nil || a.Error != nil) {
			return a.text()
		}
	}
	var a rpcResponse
	if err := json.Unmarshal(data, &a); err != nil || a.Result == nil && a.Error == nil {
		return "", errors.New("the search backend returned an invalid response; retry, or continue without the search")
	}
	return a.text()
}

func (a rpcResponse) text() (string, error) {
	if a.Error != nil {
		return "", fmt.Errorf("search backend returned an error: %s", cmp.Or(a.Error.Message, "no error message"))
	}
	var texts []string
	for _, c := range a.Result.Content {
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	text := strings.Join(texts, "\n\n")
	if a.Result.IsError {
		return "", fmt.Errorf("search failed: %s", cmp.Or(text, "no error message"))
	}
	return text, nil
}

// jsonService is the "json" backend.
type jsonService struct{ config Config }

func (j jsonService) search(ctx context.Context, q query) (string, error) {
	ask := map[string]any{"kind": "code", "query": q.text()}
	if w, ok := q.(webQuery); ok {
		ask["kind"], ask["limit"] = "web", w.Results
	}
	headers := map[string]string{}
	if j.config.Key != "" {
		headers["Authorization"] = "Bearer " + j.config.Key
	}
	response, err := post(ctx, j.config.URL, headers, ask)
	if err != nil {
		return "", err
	}
	return readResults(response)
}

// readResults formats a list of results as text.
func readResults(data []byte) (string, error) {
	var response struct {
		Results []struct {
			Title string `json:"title"`
			URL   string `json:"url"`
			Text  string `json:"text"`
		} `json:"results"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(data, &response); err != nil {
		return "", errors.New("the search backend returned an invalid response; retry, or continue without the search")
	}
	if response.Error != "" {
		return "", fmt.Errorf("search backend returned an error: %s", response.Error)
	}
	var texts []string
	for _, r := range response.Results {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("Title: %s\nURL: %s\n%s", textcut.OneLine(r.Title), textcut.OneLine(r.URL), r.Text)))
	}
	return strings.Join(texts, "\n\n"), nil
}

// post sends JSON and returns the response body. It follows no redirects, which
// would send the key elsewhere, and uses no proxy.
func post(ctx context.Context, address string, headers map[string]string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode search request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("create search request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		if ue := (*url.Error)(nil); errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("search backend unreachable: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w; retry later, or continue without the search", &web.StatusError{URL: "search backend", Code: resp.StatusCode, Status: resp.Status})
	}
	response, err := io.ReadAll(io.LimitReader(resp.Body, maxSearchResponse+1))
	if err != nil {
		return nil, fmt.Errorf("read the search backend's response: %w", err)
	}
	if len(response) > maxSearchResponse {
		return nil, fmt.Errorf("search backend response exceeds %d MiB; request fewer results", maxSearchResponse>>20)
	}
	return response, nil
}
