package language

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/text/textcut"
)

// text writes results of queries as lines of text.
type text struct {
	name func(path string) string           // how a file is named
	line func(path string, line int) string // the text of a line, from 1; empty if it is not known
}

// The maximum number of bytes of a line's text, of positions of a call, and of indented levels.
const (
	maxLineText   = 160
	maxCallRanges = 20
	maxLevels     = 20
)

// position is one in a file, from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// String returns a position as editors show it, from 1.
func (p position) String() string { return fmt.Sprintf("%d:%d", p.Line+1, p.Character+1) }

type span struct {
	Start position `json:"start"`
}

// finding is any of the protocol's results: a location, one with a target, a symbol, an item of a call
// hierarchy, a call, or what hovering shows.
type finding struct {
	URI           string          `json:"uri"`
	Range         *span           `json:"range"`
	TargetURI     string          `json:"targetUri"`
	TargetRange   *span           `json:"targetRange"`
	TargetName    *span           `json:"targetSelectionRange"`
	Name          string          `json:"name"`
	Kind          int             `json:"kind"`
	Selection     *span           `json:"selectionRange"`
	Location      *finding        `json:"location"`
	ContainerName string          `json:"containerName"`
	Children      []finding       `json:"children"`
	From          *finding        `json:"from"`
	To            *finding        `json:"to"`
	FromRanges    []span          `json:"fromRanges"`
	Contents      json.RawMessage `json:"contents"`
}

// of returns a result as text: "path:line:col: text of the line" for locations, "kind name
// path:line:col" for symbols and calls, and what hovering shows as it is. Positions count from 1.
// A result of any other form is returned as JSON.
func (t text) of(q lsp.Query, result json.RawMessage) string {
	var f finding
	if json.Unmarshal(result, &f) != nil {
		return string(result)
	}
	var text string
	switch {
	case f.Contents != nil:
		text = hoverText(f.Contents)
	case f.From != nil:
		text = t.symbol(*f.From, q.Path) + positions(", calls it at ", f.FromRanges)
	case f.To != nil:
		text = t.symbol(*f.To, q.Path) + positions(", called by it at ", f.FromRanges)
	case f.Name != "":
		text = t.symbol(f, q.Path)
	default:
		text = t.location(f)
	}
	if text == "" {
		return string(result)
	}
	return text
}

func (t text) location(f finding) string {
	uri, at := f.URI, f.Range
	if f.TargetURI != "" {
		uri, at = f.TargetURI, f.TargetRange
		if f.TargetName != nil {
			at = f.TargetName
		}
	}
	path, ok := lsp.PathOf(uri)
	if !ok || at == nil {
		return ""
	}
	text := t.name(path) + ":" + at.Start.String()
	if line := textcut.OneLine(t.line(path, at.Start.Line+1)); line != "" {
		text += ": " + textcut.Head(line, maxLineText, "...")
	}
	return text
}

// symbol returns a symbol, with those in it on indented lines. Its file is the asked one if it does
// not name one.
func (t text) symbol(f finding, path string) string {
	var text strings.Builder
	t.write(&text, f, path, 0)
	return text.String()
}

func (t text) write(text *strings.Builder, f finding, path string, level int) {
	at, uri := f.Range, f.URI
	if f.Selection != nil {
		at = f.Selection
	}
	if f.Location != nil {
		at, uri = f.Location.Range, f.Location.URI
	}
	if named, ok := lsp.PathOf(uri); ok {
		path = named
	}
	text.WriteString(strings.Repeat("  ", min(level, maxLevels)))
	if kind := f.Kind - 1; kind >= 0 && kind < len(symbolKinds) {
		text.WriteString(symbolKinds[kind] + " ")
	}
	text.WriteString(textcut.OneLine(f.Name) + " " + t.name(path))
	if at != nil {
		text.WriteString(":" + at.Start.String())
	}
	if f.ContainerName != "" {
		text.WriteString(" (in " + textcut.OneLine(f.ContainerName) + ")")
	}
	for _, child := range f.Children {
		text.WriteByte('\n')
		t.write(text, child, path, level+1)
	}
}

// positions returns where calls are, after a text; nothing if there are none.
func positions(before string, ranges []span) string {
	var list []string
	for _, r := range ranges[:min(len(ranges), maxCallRanges)] {
		list = append(list, r.Start.String())
	}
	if more := len(ranges) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	if list == nil {
		return ""
	}
	return before + strings.Join(list, ", ")
}

// hoverText returns the text of the contents of a hover: a string, an object with one, or a list of
// both.
func hoverText(contents json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(contents, &list) != nil {
		list = []json.RawMessage{contents}
	}
	var parts []string
	for _, one := range list {
		var text string
		var marked struct{ Value string }
		if json.Unmarshal(one, &text) != nil && json.Unmarshal(one, &marked) == nil {
			text = marked.Value
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// symbolKinds are the protocol's, which counts from 1.
var symbolKinds = [...]string{
	"file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface", "function", "variable",
	"constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator", "type parameter",
}
