// Package websearch has the tools websearch and codesearch, which send queries to a configured search service. It
// fetches no pages.
package websearch

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/tool"
	"github.com/millhand/millhand/tools/web"
)

//go:embed websearch.md
var websearchDescription string

//go:embed codesearch.md
var codesearchDescription string

const (
	websearchTimeout  = 25 * time.Second
	codesearchTimeout = 30 * time.Second
)

type websearchInput struct {
	Query      string `json:"query" jsonschema:"search query"`
	NumResults int    `json:"numResults,omitempty" jsonschema:"number of pages to return (default 8, maximum 100)"`
	Livecrawl  string `json:"livecrawl,omitempty" enum:"fallback,preferred" jsonschema:"fallback (default): crawl a page only if no cached copy is available; preferred: crawl it if possible"`
	Type       string `json:"type,omitempty" enum:"auto,fast,deep" jsonschema:"search depth (default auto)"`
	MaxChars   int    `json:"contextMaxCharacters,omitempty" jsonschema:"maximum length of the result in characters (default 10000)"`
}

// Web returns the tool websearch with the current year in its description: models search
// for the year of their training data otherwise.
func Web(now func() time.Time) tool.Tool[Config] {
	description := websearchDescription
	if now != nil {
		description = strings.TrimSpace(description) + fmt.Sprintf(" The current year is %d: use it in queries for recent information.\n", now().UTC().Year())
	}
	return tool.Define(tool.Spec{Name: "websearch", Description: description, ReadOnly: true, Cached: true, Deadline: websearchTimeout, Foreign: "web search"}, prepareWebsearch)
}

func prepareWebsearch(config Config, in websearchInput) (tool.Pending, error) {
	if in.NumResults < 0 || in.NumResults > 100 {
		return tool.Pending{}, fmt.Errorf("invalid numResults %d: must be between 1 and 100", in.NumResults)
	}
	if in.MaxChars < 0 {
		return tool.Pending{}, errors.New("contextMaxCharacters must not be negative")
	}
	return prepareSearch(config, "websearch", webQuery{
		Text: in.Query, Results: cmp.Or(in.NumResults, 8), Livecrawl: cmp.Or(in.Livecrawl, "fallback"),
		Type: cmp.Or(in.Type, "auto"), Characters: cmp.Or(in.MaxChars, 10_000),
	})
}

type codesearchInput struct {
	Query  string `json:"query" jsonschema:"library, API or tool, and what you want to do with it"`
	Tokens int    `json:"tokensNum,omitempty" jsonschema:"length of the result in tokens, from 1000 to 50000 (default 5000)"`
}

// Code returns the tool codesearch.
func Code() tool.Tool[Config] {
	return tool.Define(tool.Spec{Name: "codesearch", Description: codesearchDescription, ReadOnly: true, Cached: true, Deadline: codesearchTimeout, Foreign: "web search"}, prepareCodesearch)
}

func prepareCodesearch(config Config, in codesearchInput) (tool.Pending, error) {
	if in.Tokens != 0 && (in.Tokens < 1000 || in.Tokens > 50_000) {
		return tool.Pending{}, fmt.Errorf("invalid tokensNum %d: must be between 1000 and 50000", in.Tokens)
	}
	return prepareSearch(config, "codesearch", codeQuery{Text: in.Query, Tokens: cmp.Or(in.Tokens, 5000)})
}

// prepareSearch prepares a search of either kind.
func prepareSearch(config Config, name string, q query) (tool.Pending, error) {
	if strings.TrimSpace(q.text()) == "" {
		return tool.Pending{}, errors.New("query is empty")
	}
	return tool.Pending{Title: q.text(), Needs: []permission.Request{permission.Need(name, q.text())}, Do: func(ctx context.Context) (tool.Result, error) {
		backend, err := config.backend()
		if err != nil {
			return tool.Result{}, err
		}
		text, err := backend.search(ctx, q)
		if err != nil {
			return tool.Result{Metadata: tool.Metadata{HTTPStatus: web.StatusOf(err)}}, fmt.Errorf("%s: %w", name, err)
		}
		if strings.TrimSpace(text) == "" {
			text = "No results found; try different search terms."
		}
		return tool.Result{Output: text, Metadata: tool.Metadata{HTTPStatus: http.StatusOK}}, nil // every other is an error
	}}, nil
}
