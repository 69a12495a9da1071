package edit

import (
	"errors"
	"fmt"
	"strings"
)

// The ways in which a replacement can be impossible. Errors returned by
// [Replace] match one of them and say in words what to do.
var (
	ErrIdentical = errors.New("oldString and newString are the same")
	ErrEmpty     = errors.New("oldString is empty")
	ErrNotFound  = errors.New("oldString not found in file")
	ErrAmbiguous = errors.New("oldString matches multiple locations in the file")
	ErrOversized = errors.New("oldString is much smaller than the text it would replace")
)

// Result is a text after a replacement.
type Result struct {
	Text    string
	Count   int    // replacements made
	Matcher string // name of the matcher that found the piece
	Line    int    // where the first replacement begins, from 1
}

// matcher finds the places of a piece in a text. Both have LF line ends. The
// piece is not blank; except for the matchers that compare characters, a
// newline at its end was taken off.
type matcher struct {
	name  string
	find  func(text, old string) []span
	exact bool // it compares characters: the newline at the end of old counts
	loose bool // it takes what is only similar, and so never several different pieces
}

// matchers lists the ways to find a piece, the strictest first, in the order
// that OpenCode has.
func matchers() []matcher {
	return []matcher{
		{name: "exact", find: exact, exact: true},
		{name: "line-trimmed", find: lineTrimmed},
		{name: "block-anchor", find: blockAnchor, loose: true},
		{name: "whitespace-normalised", find: whitespaceNormalised},
		{name: "indentation-flexible", find: indentationFlexible},
		{name: "escape-normalised", find: escapeNormalised},
		{name: "trimmed-boundary", find: trimmedBoundary},
		{name: "context-aware", find: contextAware, loose: true},
		{name: "multi-occurrence", find: multiOccurrence, exact: true},
	}
}

// Replace replaces old by new in text: its only occurrence, or with all every
// one. new is inserted literally, except for its line endings, which become
// those of the piece that it replaces; a byte-order mark at the beginning of
// text stays.
//
// The first matcher decides that finds exactly one place (with all, any). A
// place that is much larger than old is refused.
func Replace(text, old, new string, all bool) (Result, error) {
	if old == "" {
		return Result{}, fmt.Errorf("%w: set it to the text to replace, or use write to create a file", ErrEmpty)
	}
	s := newSource(text)
	if s.mark != "" {
		old, new = strings.TrimPrefix(old, bom), strings.TrimPrefix(new, bom)
	}
	old = toLF(old)
	if old == toLF(new) {
		return Result{}, fmt.Errorf("%w: nothing to change", ErrIdentical)
	}
	spans, name, err := locate(s.text, old, all)
	if err != nil {
		return Result{}, err
	}
	if name != "exact" {
		spans = withNewline(s.text, spans, old, new)
	}
	changed := s.splice(spans, new)
	if changed == text {
		return Result{}, fmt.Errorf("%w: the file already has this content, nothing to change", ErrIdentical)
	}
	return Result{Text: changed, Count: len(spans), Matcher: name, Line: strings.Count(s.text[:spans[0].start], "\n") + 1}, nil
}

// locate returns the places to replace, in order and apart from each other, and
// the name of the matcher that found them.
func locate(text, old string, all bool) ([]span, string, error) {
	times := 0
	for _, m := range matchers() {
		piece := old
		if !m.exact {
			piece = strings.TrimSuffix(old, "\n")
			if blank(piece) { // nothing but its characters tells where it belongs
				continue
			}
		}
		spans := m.find(text, piece)
		n := places(text, spans)
		if n == 1 || n > 1 && all && (!m.loose || alike(text, spans)) {
			spans = apart(spans)
			return spans, m.name, oversized(text, spans, piece)
		}
		if times == 0 {
			times = n
		}
	}
	if times > 1 {
		return nil, "", fmt.Errorf("%w (%d matches): include more surrounding lines to make it unique, or set replaceAll", ErrAmbiguous, times)
	}
	return nil, "", fmt.Errorf("%w: read the file again and copy the text exactly, including whitespace and without line numbers", ErrNotFound)
}

// oversized refuses places that are much larger than the piece searched: text
// would go that the author of the piece has not seen. The bounds are OpenCode's.
func oversized(text string, spans []span, old string) error {
	n := strings.Count(old, "\n") + 1
	size := len(strings.TrimSpace(old))
	for _, s := range spans {
		found := text[s.start:s.end]
		lines := strings.Count(found, "\n") + 1
		if lines >= max(n+3, 2*n) || n > 1 && len(strings.TrimSpace(found)) > max(size+500, 4*size) {
			return fmt.Errorf("%w (matched %d lines and %d bytes at line %d, oldString has %d lines and %d bytes): set oldString to the complete text to replace",
				ErrOversized, lines, len(found), strings.Count(text[:s.start], "\n")+1, n, len(old))
		}
	}
	return nil
}

// withNewline adds the newline behind a place to it if the piece searched ended
// in one, and what replaces it does or is nothing: matchers of lines leave it
// out.
func withNewline(text string, spans []span, old, new string) []span {
	if !strings.HasSuffix(old, "\n") || new != "" && !strings.HasSuffix(new, "\n") {
		return spans
	}
	for i, s := range spans {
		if strings.HasPrefix(text[s.end:], "\n") && !strings.HasSuffix(text[s.start:s.end], "\n") {
			spans[i].end++
		}
	}
	return spans
}
