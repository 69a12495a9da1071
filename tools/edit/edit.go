package edit

import (
	"errors"
	"fmt"
	"iter"
	"strings"
)

// The ways in which a replacement can be impossible. Errors returned by
// [Replace] match one of them and say in words what to do.
var (
	ErrIdentical = errors.New("oldString and newString are the same")
	ErrEmpty     = errors.New("oldString is empty")
	ErrNotFound  = errors.New("oldString is not in the file")
	ErrAmbiguous = errors.New("oldString is in the file more than once")
)

// Result is a text after a replacement.
type Result struct {
	Text    string
	Count   int    // replacements made
	Matcher string // name of the matcher that found the piece
}

// matcher finds candidates for old in a text: pieces of the text itself.
type matcher struct {
	name string
	find func(text, old string) iter.Seq[string]
}

// matchers lists the ways to find a piece, the strictest first.
func matchers() []matcher {
	return []matcher{
		{"exact", exact},
	}
}

// exact yields old itself.
func exact(_, old string) iter.Seq[string] {
	return func(yield func(string) bool) { yield(old) }
}

// Replace replaces old by new in text: its only occurrence, or with all every
// one. new is taken literally. A text whose lines end in CRLF keeps them so,
// whatever the line ends of old and new.
func Replace(text, old, new string, all bool) (Result, error) {
	switch {
	case old == "":
		return Result{}, fmt.Errorf("%w: give the text to replace, or use write to make a new file", ErrEmpty)
	case old == new:
		return Result{}, fmt.Errorf("%w: there is nothing to change", ErrIdentical)
	}
	if strings.Contains(text, "\r\n") {
		old, new = withCRLF(old), withCRLF(new)
	}
	most := 0
	for _, m := range matchers() {
		for candidate := range m.find(text, old) {
			n := strings.Count(text, candidate)
			if n == 1 || n > 1 && all {
				return Result{Text: strings.ReplaceAll(text, candidate, new), Count: n, Matcher: m.name}, nil
			}
			most = max(most, n)
		}
	}
	if most > 1 {
		return Result{}, fmt.Errorf("%w (%d times): give more of the lines around it so that it is unique, or set replaceAll", ErrAmbiguous, most)
	}
	return Result{}, fmt.Errorf("%w: read the file again and copy the text exactly, with its white space and without line numbers", ErrNotFound)
}

func withCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
