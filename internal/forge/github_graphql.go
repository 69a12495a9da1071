package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// graphqlURL returns the URL of GitHub's GraphQL API, given that of its REST API.
func graphqlURL(base string) string {
	if u, err := url.Parse(base); err == nil && strings.HasSuffix(u.Path, "/api/v3") {
		return strings.TrimSuffix(base, "/v3") + "/graphql"
	}
	return base + "/graphql"
}

// graphqlFault is an error in a response of GraphQL, whose status is 200.
type graphqlFault struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// kind returns the kind of an [Error].
func (f graphqlFault) kind() error {
	switch f.Type {
	case "NOT_FOUND":
		return ErrNotFound
	case "FORBIDDEN", "INSUFFICIENT_SCOPES", "UNAUTHORIZED":
		return ErrDenied
	case "RATE_LIMITED", "RATE_LIMIT":
		return ErrLimited
	case "STALE_DATA":
		return ErrConflict
	}
	return ErrInvalid
}

// graphql sends a document of GraphQL with its variables, and decodes the data of the
// response into data. Of c, what, owner and landed are used; data is unchanged if the
// request landed without a response.
func (g *github) graphql(ctx context.Context, c call, document string, variables map[string]any, data any) error {
	var res struct {
		Data   json.RawMessage `json:"data"`
		Errors []graphqlFault  `json:"errors"`
	}
	c.graphql, c.method, c.out, c.reads = true, http.MethodPost, &res, strings.HasPrefix(document, "query")
	c.body = map[string]any{"query": document, "variables": variables}
	if _, err := g.send(ctx, c); err != nil {
		return err
	}
	if len(res.Errors) > 0 {
		var texts []string
		for _, f := range res.Errors {
			texts = append(texts, f.Message)
		}
		e := &exchange{s: g.Sender, Call: c.call()}
		if token, err := g.token(ctx, c.owner); err == nil {
			e.token = token
		}
		return e.fail(nil, res.Errors[0].kind(), strings.Join(texts, ": "), time.Time{})
	}
	if res.Data == nil {
		return nil
	}
	if err := json.Unmarshal(res.Data, data); err != nil {
		return fmt.Errorf("%s: %w: %w", c.what, ErrResponse, err)
	}
	return nil
}
