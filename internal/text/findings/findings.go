package findings

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Name is the name of the schema in manifests.
const Name = "findings"

// Severity is how important a finding is, in the terms of SARIF.
type Severity string

// The severities, the most important first.
const (
	Error   Severity = "error"   // it has to be fixed
	Warning Severity = "warning" // it should be fixed
	Note    Severity = "note"    // worth knowing
)

func severities() []Severity { return []Severity{Error, Warning, Note} }

// Finding is one problem that a review found.
type Finding struct {
	Path       string   `json:"path"` // relative to the repository's root, slash separated; empty if it is not in a file of the repository
	Line       int      `json:"line"` // from 1; 0 for the file
	Severity   Severity `json:"severity"`
	Rule       string   `json:"rule"`       // kind of problem, such as sql-injection
	Message    string   `json:"message"`    // what is wrong
	Suggestion string   `json:"suggestion"` // may be empty
}

// Schema returns the JSON Schema of a final message with findings. Every property is
// required, as strict modes of providers demand.
func Schema() map[string]any {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	levels := make([]any, 0, len(severities()))
	for _, s := range severities() {
		levels = append(levels, string(s))
	}
	finding := map[string]any{
		"type": "object", "additionalProperties": false,
		"required": []any{"path", "line", "severity", "rule", "message", "suggestion"},
		"properties": map[string]any{
			"path":       text("File, relative to the repository's root"),
			"line":       map[string]any{"type": "integer", "description": "Line of the file as it is now, from 1; 0 for the entire file"},
			"severity":   map[string]any{"type": "string", "enum": levels, "description": "error: must be fixed; warning: should be fixed; note: worth knowing"},
			"rule":       text("Kind of problem in a few words, the same for all findings of the kind, such as sql-injection or missing-test"),
			"message":    text("What is wrong, and an input or a case that shows it"),
			"suggestion": text("How to fix it; empty if unknown"),
		},
	}
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"required": []any{"summary", "findings"},
		"properties": map[string]any{
			"summary":  text("The result of the review in one or two sentences"),
			"findings": map[string]any{"type": "array", "items": finding, "description": "The most important first; empty if there is nothing to report"},
		},
	}
}

// Review is a final message with findings.
type Review struct {
	Summary  string    `json:"summary"`
	Findings []Finding `json:"findings"` // never nil
}

// Parse reads a document that matches the schema. It sorts the findings by severity and
// file, and normalizes them: a path that leaves the repository becomes empty, an unknown
// severity a warning, and a rule an id of lower-case letters, digits and hyphens.
func Parse(doc json.RawMessage) (*Review, error) {
	var read struct {
		Summary  string `json:"summary"`
		Findings []struct {
			Finding
			Line json.Number `json:"line"` // 3.0 and 1e30 are integers, too
		} `json:"findings"`
	}
	if err := json.Unmarshal(doc, &read); err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	r := Review{read.Summary, make([]Finding, len(read.Findings))}
	for i, one := range read.Findings {
		f := &r.Findings[i]
		*f = one.Finding
		f.Path, f.Line, f.Rule = within(f.Path), line(one.Line), ruleID(f.Rule)
		if f.Path == "" {
			f.Line = 0
		}
		if !slices.Contains(severities(), f.Severity) {
			f.Severity = Warning
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if d := slices.Index(severities(), a.Severity) - slices.Index(severities(), b.Severity); d != 0 {
			return d
		}
		if d := strings.Compare(a.Path, b.Path); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
	return &r, nil
}

// line returns the number of a line; 0 for what no file has.
func line(n json.Number) int {
	v, err := n.Float64()
	if err != nil || v < 1 || v > math.MaxInt32 {
		return 0
	}
	return int(v)
}

// within returns a clean path in the repository; "" for others.
func within(name string) string {
	name = strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/"), "./")
	clean := path.Clean(name)
	if name == "" || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) ||
		strings.Contains(name, ":") || strings.ContainsFunc(name, unicode.IsControl) {
		return ""
	}
	return clean
}

// maxRule is the maximum length of a rule's id.
const maxRule = 60

func ruleID(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	id := strings.Join(words, "-")
	id = strings.Trim(id[:min(len(id), maxRule)], "-")
	if id == "" {
		return "other"
	}
	return id
}

// Location returns the path with the line; "" without a path.
func (f Finding) Location() string {
	if f.Line == 0 {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}
