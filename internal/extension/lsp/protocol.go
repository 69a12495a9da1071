package lsp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
)

// The types of the Language Server Protocol that are used.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// diagnostic is a finding of a server in a file.
type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"` // severityError, or 0 if the server leaves it to the client
	Message  string `json:"message"`
}

const severityError = 1

type publication struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type documentID struct {
	URI     string `json:"uri"`
	Version int    `json:"version,omitempty"`
}

type positionParams struct {
	TextDocument documentID       `json:"textDocument"`
	Position     position         `json:"position"`
	Context      *referenceParams `json:"context,omitempty"`
}

type referenceParams struct {
	IncludeDeclaration bool `json:"includeDeclaration"`
}

type fileEvent struct {
	URI  string     `json:"uri"`
	Type ChangeKind `json:"type"`
}

// ChangeKind is how a file changed.
type ChangeKind int

// The kinds, with the protocol's numbers.
const (
	Created ChangeKind = 1
	Changed ChangeKind = 2
	Deleted ChangeKind = 3
)

// capabilities are those of a server. Most are a boolean, or an object with options.
type capabilities struct {
	Definition     json.RawMessage `json:"definitionProvider"`
	References     json.RawMessage `json:"referencesProvider"`
	Hover          json.RawMessage `json:"hoverProvider"`
	DocumentSymbol json.RawMessage `json:"documentSymbolProvider"`
	Symbol         json.RawMessage `json:"workspaceSymbolProvider"`
	Implementation json.RawMessage `json:"implementationProvider"`
	CallHierarchy  json.RawMessage `json:"callHierarchyProvider"`
	Diagnostic     json.RawMessage `json:"diagnosticProvider"`
	Execute        struct {
		Commands []string `json:"commands"`
	} `json:"executeCommandProvider"`
}

// has reports whether a capability is there.
func has(capability json.RawMessage) bool {
	text := string(capability)
	return text != "" && text != "null" && text != "false"
}

type initialized struct {
	Capabilities capabilities `json:"capabilities"`
	ServerInfo   struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
}

// clientCapabilities are those of a client that shows diagnostics and asks questions, and
// changes nothing.
func clientCapabilities() map[string]any {
	links := map[string]any{"linkSupport": false}
	return map[string]any{
		"workspace": map[string]any{
			"applyEdit": false, "configuration": true, "workspaceFolders": true,
			"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
		},
		"textDocument": map[string]any{
			"synchronization":    map[string]any{"didSave": true},
			"publishDiagnostics": map[string]any{"versionSupport": true},
			"diagnostic":         map[string]any{},
			"hover":              map[string]any{"contentFormat": []string{"markdown", "plaintext"}},
			"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
			"definition":         links, "implementation": links,
			"references": map[string]any{}, "callHierarchy": map[string]any{},
		},
		"window": map[string]any{"workDoneProgress": true},
	}
}

// uriOf returns the URI of an absolute path.
func uriOf(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// PathOf returns the absolute path of a file's URI; false for other URIs.
func PathOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	return filepath.Clean(u.Path), true
}

// relative returns a path below a root; false for others.
func relative(root, path string) (string, bool) {
	rel, err := filepath.Rel(root, path)
	return rel, err == nil && pathtree.Within(path, root) && rel != "."
}
