package cut

import (
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/textcut"
)

// The maximum sizes of an error message and of a call's title, in bytes of JSON.
const (
	MaxMessage = 4 << 10
	maxTitle   = 200
)

// Message makes an error message fit for the model: it may quote long
// arguments and file names that are not valid UTF-8. A long message is
// shortened in the middle, because the operation comes first and the reason
// last.
func Message(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if Size(s) <= MaxMessage {
		return s
	}
	return Bytes(s, MaxMessage/2, false) + " (...) " + Bytes(s, MaxMessage/2, true)
}

// Title shortens a text to a title of one line.
func Title(s string) string {
	s = textcut.OneLine(strings.ToValidUTF8(s, "\uFFFD"))
	if saved := Bytes(s, maxTitle, false); len(saved) < len(s) {
		return saved + "..."
	}
	return s
}

// Lines returns the first, or last, n lines.
func Lines(text string, n int, tail bool) string {
	if strings.Count(text, "\n") < n {
		return text
	}
	if tail {
		at := len(strings.TrimSuffix(text, "\n"))
		for range n {
			at = strings.LastIndexByte(text[:at], '\n')
			if at < 0 {
				return text
			}
		}
		return text[at+1:]
	}
	at := 0
	for range n {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return text
		}
		at += next + 1
	}
	return text[:at]
}

// Bytes returns as much of the head, or tail, as fits in size bytes of JSON.
// It never splits a character, and cuts at a line end if one is near.
func Bytes(text string, size int, tail bool) string {
	if len(text)*6 <= size || Size(text) <= size {
		return text
	}
	if tail {
		at, sum := len(text), 0
		for at > 0 {
			r, w := utf8.DecodeLastRuneInString(text[:at])
			if sum += runeSize(r, w); sum > size {
				break
			}
			at -= w
		}
		if nl := strings.IndexByte(text[at:], '\n'); nl >= 0 && nl < (len(text)-at)/4 {
			at += nl + 1
		}
		return text[at:]
	}
	at, sum := 0, 0
	for at < len(text) {
		r, w := utf8.DecodeRuneInString(text[at:])
		if sum += runeSize(r, w); sum > size {
			break
		}
		at += w
	}
	if nl := strings.LastIndexByte(text[:at], '\n'); nl > at*3/4 {
		at = nl + 1
	}
	return text[:at]
}

// Size returns the size of a text as a JSON string, without its quotes.
func Size(text string) int {
	n := 0
	for i := 0; i < len(text); {
		r, w := utf8.DecodeRuneInString(text[i:])
		n += runeSize(r, w)
		i += w
	}
	return n
}

// runeSize returns the size of one character in JSON; an invalid byte counts as
// the replacement character.
func runeSize(r rune, width int) int {
	switch {
	case r == utf8.RuneError && width == 1:
		return 3
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r == 0x7f || r == '\u2028' || r == '\u2029':
		return 6
	}
	return width
}

// LineCount counts lines, including a last one without a newline.
func LineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
