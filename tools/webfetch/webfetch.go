// Package webfetch has the tool webfetch, which fetches a page and converts it for a model. It opens no connection
// itself: package web has the guarded client.
package webfetch

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/tool"
	"github.com/millhand/millhand/tools/web"
)

//go:embed webfetch.md
var description string

const (
	webfetchTimeout    = 30 * time.Second // default timeout
	maxWebfetchTimeout = 120 * time.Second
)

type input struct {
	URL     string  `json:"url" jsonschema:"URL to fetch, starting with http:// or https://"`
	Format  string  `json:"format,omitempty" enum:"markdown,text,html" jsonschema:"format of the result (default markdown)"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"timeout in seconds (default 30, maximum 120)"`
}

// Env is what the tool needs of a session.
type Env struct {
	Profile permission.Profile
	Accepts media.Accepted
}

// Tool returns the tool.
func Tool() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "webfetch", Description: description, ReadOnly: true, Cached: true, Foreign: "web page"}, prepare)
}

func prepare(env Env, in input) (tool.Pending, error) {
	in.URL = strings.TrimSpace(in.URL)
	if in.URL == "" {
		return tool.Pending{}, errors.New("url is empty; specify a URL that starts with https://")
	}
	if !strings.Contains(in.URL, "://") {
		return tool.Pending{}, fmt.Errorf("invalid url %q: must start with http:// or https://", cut.Title(in.URL))
	}
	in.Format = cmp.Or(in.Format, "markdown")
	if in.Timeout < 0 {
		return tool.Pending{}, fmt.Errorf("invalid timeout %g: must be a positive number of seconds", in.Timeout)
	}
	return tool.Pending{Title: in.URL, Needs: Needs(env.Profile, "webfetch", in.URL), Do: func(ctx context.Context) (tool.Result, error) {
		limit := webfetchTimeout
		if in.Timeout > 0 {
			limit = time.Duration(min(in.Timeout, maxWebfetchTimeout.Seconds()) * float64(time.Second))
		}
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("request timed out after %s; set a larger timeout (maximum 120) or try another source", limit))
		defer cancel()
		return fetch(ctx, env, in)
	}}, nil
}

func fetch(ctx context.Context, env Env, in input) (tool.Result, error) {
	page, err := follow(ctx, env.Profile, in)
	if err != nil {
		return tool.Result{Metadata: tool.Metadata{HTTPStatus: web.StatusOf(err)}}, fetchError(err)
	}
	res, err := pageResult(ctx, env, page, in.Format)
	res.Metadata.HTTPStatus = page.Status
	return res, err
}

// follow fetches a page. Each redirect is decided as if it had been asked for.
func follow(ctx context.Context, p permission.Profile, in input) (web.Page, error) {
	client := web.Client{Reach: reachOf(p)}
	page, err := client.Get(ctx, in.URL, acceptFor(in.Format))
	for n := 0; err == nil && page.Redirect != ""; n++ {
		if n == web.MaxRedirects {
			return page, fmt.Errorf("fetch %s: more than %d redirects, last to %s", in.URL, web.MaxRedirects, page.Redirect)
		}
		if d := p.DecideAll(Needs(p, "webfetch", page.Redirect)); !d.Allowed() {
			return page, &permission.Error{Decision: d}
		}
		page, err = client.Get(ctx, page.Redirect, acceptFor(in.Format))
	}
	return page, err
}

// reachOf returns the hosts that a profile's network allows to the web tools.
func reachOf(p permission.Profile) web.Reach {
	reach := web.Reach{Public: p.Network.Allow, Hosts: p.Network.Hosts}
	if p.Max != nil {
		most := reachOf(*p.Max)
		reach.Within = &most
	}
	return reach
}

// Needs lists the permissions for fetching a URL. Rules on URLs can't allow
// what the profile's network does not: no private address, unless the network
// names its host.
func Needs(p permission.Profile, perm, address string) []permission.Request {
	need := permission.Need(perm, address)
	need.Forbidden = reachOf(p).Refusal(address)
	return []permission.Request{need}
}

// acceptFor returns the Accept header for a format.
func acceptFor(format string) string {
	switch format {
	case "html":
		return "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.8,*/*;q=0.1"
	case "text":
		return "text/plain,text/markdown;q=0.9,text/html;q=0.8,*/*;q=0.1"
	}
	return "text/markdown,text/x-markdown;q=0.95,text/plain;q=0.8,text/html;q=0.7,*/*;q=0.1"
}

// fetchError adds what the model can do about a failed fetch.
func fetchError(err error) error {
	var refused *web.Refused
	var status *web.StatusError
	switch {
	case errors.As(err, &refused):
		need := permission.Need("webfetch", refused.URL)
		return &permission.Error{Decision: permission.Decision{Request: need, Rule: refused.Reason, NoRule: true, Source: "built in"}}
	case errors.As(err, &status):
		return fmt.Errorf("%w: %s", err, statusAdvice(status.Code))
	case errors.Is(err, web.ErrTooLarge):
		return fmt.Errorf("%w; fetch a smaller page", err)
	}
	return err
}

func statusAdvice(code int) string {
	switch {
	case code == http.StatusNotFound || code == http.StatusGone:
		return "page not found; check the URL"
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return "the page requires authorization; try another source"
	case code == http.StatusTooManyRequests || code >= 500:
		return "the server is unavailable or rate limiting requests; retry later or try another source"
	}
	return "try another URL"
}

// pageResult converts a page to a Result.
func pageResult(ctx context.Context, env Env, page web.Page, format string) (tool.Result, error) {
	kind := page.MediaType()
	if file := media.Of(urlPath(page.URL), page.Body); file != "" {
		if err := env.Accepts.Check(page.URL, file, int64(len(page.Body))); err != nil {
			return tool.Result{}, err
		}
		return media.Attach(path.Base(urlPath(page.URL)), page.URL, file, page.Body)
	}
	text := page.Text()
	unknown := strings.HasSuffix(kind, "/octet-stream") && utf8.Valid(page.Body)
	if !textual(kind) && !unknown || media.IsBinary("", []byte(text[:min(len(text), 8<<10)])) {
		return tool.Result{}, fmt.Errorf("%s is not text but %s (%d bytes) and can't be shown", page.URL, kind, len(page.Body))
	}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		switch format {
		case "markdown":
			text = web.Markdown(text, page.URL)
		case "text":
			text = web.PlainText(text)
		}
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(text) == "" {
		text = "(the page contains no text)"
	}
	return tool.Result{Title: fmt.Sprintf("%s (%s)", page.URL, kind), Output: text}, nil
}

// textual reports whether a media type is text.
func textual(media string) bool {
	kind, sub, _ := strings.Cut(media, "/")
	if kind == "text" || media == "image/svg+xml" {
		return true
	}
	for _, word := range []string{"json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-sh", "sql", "graphql", "x-ndjson", "x-www-form-urlencoded"} {
		if kind == "application" && (sub == word || strings.HasSuffix(sub, "+"+word) || strings.HasSuffix(sub, word)) {
			return true
		}
	}
	return false
}

// urlPath returns the path of a URL.
func urlPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}
