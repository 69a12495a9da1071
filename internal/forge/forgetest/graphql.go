package forgetest

import (
	"cmp"
	"net/http"
	"strings"
)

// graphqlError is an error of GitHub's GraphQL API, whose status is 200.
type graphqlError struct{ kind, text string }

// serveGraphQL serves the documents that the client sends.
func (s rest) serveGraphQL(r *http.Request) (int, any, error) {
	var in struct{ Query string }
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	var data any
	fault := &graphqlError{"", "Parse error"}
	switch {
	case strings.Contains(in.Query, "viewer"):
		data, fault = map[string]any{"viewer": map[string]any{"login": cmp.Or(s.User, s.bot())}}, nil
	}
	if fault != nil {
		return http.StatusOK, map[string]any{"data": nil, "errors": []any{map[string]any{"type": fault.kind, "message": fault.text}}}, nil
	}
	return http.StatusOK, map[string]any{"data": data}, nil
}
