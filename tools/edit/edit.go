package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/text/figures"
)

// The reasons why a replacement fails. Errors returned by [Replace] match one
// of them and say what to do.
var (
	ErrIdentical = errors.New("oldString and newString are the same")
	ErrEmpty     = errors.New("oldString is empty")
	ErrNotFound  = errors.New("oldString not found in file")
	ErrAmbiguous = errors.New("oldString matches multiple locations in the file")
	ErrOversized = errors.New("oldString is much smaller than the text it would replace")
	ErrInexact   = errors.New("oldString matches only approximately")
)

// Result is the result of a replacement.
type Result struct {
	Text    string
	Count   int    // number of replacements
	Matcher string // name of the matcher that matched
	Line    int    // line of the first replacement, from 1
	Differs string // what differs between the first match and old, such as "indentation and quotes"; "" if it is exact
	Shown   string // the lines of the first replacement with their numbers, if it is not exact
}

// matcher finds the locations of old in a text. Both have LF line endings.
// old is not blank; except for the matchers that compare characters, a
// newline at its end was taken off.
type matcher struct {
	name  string
	find  func(text, old string) []span
	exact bool // compares characters: a trailing newline of old is significant
	loose bool // accepts similar text, so never several different matches
}

// matchers lists the matchers, the strictest first, in OpenCode's order.
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
// one. For an exact match new is inserted literally, except for line endings:
// lines keep theirs, and new lines get those of the lines around them. A
// byte-order mark at the start of text stays. If a match is not exact, the
// difference between old and new is applied to it ([merge.Match]): other text keeps
// its bytes, and new lines get the indentation of the file.
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
	f := fitter{source: s, matcher: name, old: old, new: new, ends: s.lineEnds()}
	res := Result{Count: len(spans), Matcher: name, Line: strings.Count(s.text[:spans[0].start], "\n") + 1}
	if err := f.fit(&res, spans); err != nil {
		return Result{}, err
	}
	if res.Text == text {
		return Result{}, fmt.Errorf("%w: the file already has this content, nothing to change", ErrIdentical)
	}
	return res, nil
}

// locate returns the spans to replace, in order and without overlaps, and the
// name of the matcher that found them.
func locate(text, old string, all bool) ([]span, string, error) {
	times := 0
	for _, m := range matchers() {
		chunk := old
		if !m.exact {
			chunk = strings.TrimSuffix(old, "\n")
			if blank(chunk) { // only its exact characters can locate it
				continue
			}
		}
		spans := m.find(text, chunk)
		n := spansOf(text, spans)
		if n == 1 || n > 1 && all && (!m.loose || alike(text, spans)) {
			spans = apart(spans)
			return spans, m.name, oversized(text, spans, chunk)
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

// oversized rejects matches that are much larger than old, because
// replacing them would delete text that its author has not seen. The limits are
// OpenCode's.
func oversized(text string, spans []span, old string) error {
	n := strings.Count(old, "\n") + 1
	size := len(strings.TrimSpace(old))
	for _, s := range spans {
		found := text[s.start:s.end]
		lines := strings.Count(found, "\n") + 1
		if lines >= max(n+3, 2*n) || n > 1 && len(strings.TrimSpace(found)) > max(size+500, 4*size) {
			return fmt.Errorf("%w (matched %s and %s at line %d, oldString has %s and %s): set oldString to the complete text to replace", ErrOversized,
				figures.Count(lines, "line"), figures.Count(len(found), "byte"), strings.Count(text[:s.start], "\n")+1, figures.Count(n, "line"), figures.Count(len(old), "byte"))
		}
	}
	return nil
}

// withNewline extends spans by the following newline if old ended in one
// and the replacement does, too, or is empty; line matchers exclude it.
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
