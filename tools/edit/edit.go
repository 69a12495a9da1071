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
	if old == "" {
		return Result{}, fmt.Errorf("%w: give the text to replace, or use write to make a new file", ErrEmpty)
	}
	if usesCRLF(text, old) {
		old, new = withCRLF(old), withCRLF(new)
	}
	if old == new {
		return Result{}, fmt.Errorf("%w: there is nothing to change", ErrIdentical)
	}
	most := 0
	for _, m := range matchers() {
		for candidate := range m.find(text, old) {
			n := places(text, candidate)
			if n == 1 || n > 1 && all {
				count := strings.Count(text, candidate)
				return Result{Text: strings.ReplaceAll(text, candidate, new), Count: count, Matcher: m.name}, nil
			}
			most = max(most, n)
		}
	}
	if most > 1 {
		return Result{}, fmt.Errorf("%w (%d times): give more of the lines around it so that it is unique, or set replaceAll", ErrAmbiguous, most)
	}
	return Result{}, fmt.Errorf("%w: read the file again and copy the text exactly, with its white space and without line numbers", ErrNotFound)
}

// places counts where piece is in text. Two that overlap are two: "}\n}" is
// twice in "}\n}\n}", and it would be a guess which one is meant.
func places(text, piece string) int {
	n := strings.Count(text, piece)
	if n == 1 && strings.Index(text, piece) != strings.LastIndex(text, piece) {
		return 2
	}
	return n
}

// usesCRLF reports whether the lines of the piece of text that old means end in
// CRLF. Where only some lines of a text do, a piece of the others is taken as
// it is.
func usesCRLF(text, old string) bool {
	if !strings.Contains(text, "\r\n") {
		return false
	}
	plain := strings.Contains(old, "\n") && !strings.Contains(old, "\r\n") && old[0] != '\n'
	return !plain || !strings.Contains(text, old)
}

func withCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
