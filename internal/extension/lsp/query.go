package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Query is a question about a position in a file, or about the workspace.
type Query struct {
	Operation    string // one of OpenCode's: goToDefinition, findReferences, hover, ...
	Path         string // absolute
	Line, Column int    // from 1
	Symbol       string // of workspaceSymbol: what names have to match
}

// Query asks the server. The result is the protocol's, a list; an empty one if there is
// nothing. It has ten seconds after the server has started. The error is for the model.
func (s *Server) Query(ctx context.Context, q Query) ([]json.RawMessage, error) {
	list, err := s.query(ctx, q)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("language server %s: %s: %w", s.config.Name, q.Operation, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Calls++
	if err != nil {
		s.info.Errors++
	}
	return list, err
}

func (s *Server) query(ctx context.Context, q Query) ([]json.RawMessage, error) {
	l, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("timed out after %s", requestTimeout))
	defer cancel()
	type result struct {
		list []json.RawMessage
		err  error
	}
	done := make(chan result, 1)
	if !s.spawn(func() {
		l.sync([]string{q.Path})
		_, before := l.logs()
		list, err := l.query(ctx, q)
		if text, n := l.logs(); err == nil && len(list) == 0 && n > before {
			err = fmt.Errorf("the server found nothing and logged an error: %s", text)
		}
		done <- result{list, err}
	}) {
		return nil, fmt.Errorf("it has ended with the job")
	}
	select {
	case r := <-done:
		return r.list, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *live) query(ctx context.Context, q Query) ([]json.RawMessage, error) {
	doc := documentID{URI: uriOf(q.Path)}
	at := positionParams{TextDocument: doc, Position: position{q.Line - 1, q.Column - 1}}
	can, method, params := json.RawMessage(nil), "", any(at)
	switch q.Operation {
	case "goToDefinition":
		can, method = l.can.Definition, "textDocument/definition"
	case "findReferences":
		at.Context = &referenceParams{IncludeDeclaration: true}
		can, method, params = l.can.References, "textDocument/references", at
	case "hover":
		can, method = l.can.Hover, "textDocument/hover"
	case "documentSymbol":
		can, method, params = l.can.DocumentSymbol, "textDocument/documentSymbol", map[string]any{"textDocument": doc}
	case "workspaceSymbol":
		can, method, params = l.can.Symbol, "workspace/symbol", map[string]any{"query": q.Symbol}
	case "goToImplementation":
		can, method = l.can.Implementation, "textDocument/implementation"
	case "prepareCallHierarchy", "incomingCalls", "outgoingCalls":
		can, method = l.can.CallHierarchy, "textDocument/prepareCallHierarchy"
	}
	if !has(can) {
		return nil, fmt.Errorf("not supported by the server for %s files", filepath.Ext(q.Path))
	}
	list, err := l.list(ctx, method, params)
	if err != nil || len(list) == 0 || q.Operation != "incomingCalls" && q.Operation != "outgoingCalls" {
		return list, err
	}
	return l.list(ctx, "callHierarchy/"+q.Operation, map[string]any{"item": list[0]})
}

// list sends a request whose result is a list, one element of it, or null.
func (l *live) list(ctx context.Context, method string, params any) ([]json.RawMessage, error) {
	var result json.RawMessage
	if err := l.request(ctx, method, params, &result); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	switch {
	case len(result) == 0 || string(result) == "null":
		return nil, nil
	case result[0] != '[':
		return []json.RawMessage{result}, nil
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, fmt.Errorf("read the result of %s: %w", method, err)
	}
	return list, nil
}

// Files returns the paths of all files that a result names; ok is false if it names one that is
// no file.
func Files(result json.RawMessage) (paths []string, ok bool) {
	var value any
	if json.Unmarshal(result, &value) != nil {
		return nil, false
	}
	ok = true
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				uri, isText := e.(string)
				if !isText || key != "uri" && key != "targetUri" {
					walk(e)
					continue
				}
				path, file := PathOf(uri)
				paths, ok = append(paths, path), ok && file
			}
		}
	}
	walk(value)
	return paths, ok
}
