package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
)

//go:embed websearch.md
var websearchDescription string

//go:embed codesearch.md
var codesearchDescription string

const (
	websearchTime  = 25 * time.Second
	codesearchTime = 30 * time.Second
)

type websearchInput struct {
	Query      string `json:"query" jsonschema:"what to search for"`
	NumResults int    `json:"numResults,omitempty" jsonschema:"how many pages, 8 if not given"`
	Livecrawl  string `json:"livecrawl,omitempty" jsonschema:"fallback: fetch a page anew only if no copy of it is at hand; preferred: fetch it anew if possible"`
	Type       string `json:"type,omitempty" jsonschema:"auto, fast or deep"`
	MaxChars   int    `json:"contextMaxCharacters,omitempty" jsonschema:"length of the answer in characters, 10000 if not given"`
}

func websearchTool() Tool {
	return Define(Spec{Name: "websearch", Description: websearchDescription, ReadOnly: true, Cached: true, Deadline: websearchTime}, prepareWebsearch)
}

func prepareWebsearch(env *Env, in websearchInput) (Pending, error) {
	if err := oneOf("livecrawl", in.Livecrawl, "", "fallback", "preferred"); err != nil {
		return Pending{}, err
	}
	if err := oneOf("type", in.Type, "", "auto", "fast", "deep"); err != nil {
		return Pending{}, err
	}
	if in.NumResults < 0 || in.NumResults > 100 {
		return Pending{}, fmt.Errorf("numResults is %d: give a number from 1 to 100", in.NumResults)
	}
	if in.MaxChars < 0 {
		return Pending{}, errors.New("contextMaxCharacters can't be negative")
	}
	return prepareSearch(env, "websearch", webQuery{
		Text: in.Query, Results: orElse(in.NumResults, 8), Livecrawl: orElse(in.Livecrawl, "fallback"),
		Type: orElse(in.Type, "auto"), Characters: orElse(in.MaxChars, 10_000),
	})
}

type codesearchInput struct {
	Query  string `json:"query" jsonschema:"library and what is to be done with it"`
	Tokens int    `json:"tokensNum,omitempty" jsonschema:"length of the answer in tokens, from 1000 to 50000, 5000 if not given"`
}

func codesearchTool() Tool {
	return Define(Spec{Name: "codesearch", Description: codesearchDescription, ReadOnly: true, Cached: true, Deadline: codesearchTime}, prepareCodesearch)
}

func prepareCodesearch(env *Env, in codesearchInput) (Pending, error) {
	if in.Tokens != 0 && (in.Tokens < 1000 || in.Tokens > 50_000) {
		return Pending{}, fmt.Errorf("tokensNum is %d: give a number from 1000 to 50000", in.Tokens)
	}
	return prepareSearch(env, "codesearch", codeQuery{Text: in.Query, Tokens: orElse(in.Tokens, 5000)})
}

// prepareSearch prepares a search of either kind.
func prepareSearch(env *Env, tool string, q query) (Pending, error) {
	if strings.TrimSpace(q.words()) == "" {
		return Pending{}, errors.New("query is empty: say what to search for")
	}
	return Pending{Title: q.words(), Needs: []permission.Request{permission.Need(tool, q.words())}, Do: func(ctx context.Context) (Result, error) {
		backend, err := env.Search.backend()
		if err != nil {
			return Result{}, err
		}
		text, err := backend.search(ctx, q)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", tool, err)
		}
		if strings.TrimSpace(text) == "" {
			text = "Nothing was found: try other words."
		}
		return Result{Output: text}, nil
	}}, nil
}

// orElse returns the value, or its default if it was not given.
func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// oneOf says that an argument is none of those it can be.
func oneOf(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s: expected one of %s, got %q", name, strings.Join(choices[1:], ", "), brief(value))
}
