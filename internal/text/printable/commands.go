package printable

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// The commands of CIs, which their runners find in the output of a step. They may have
// invisible characters between, because a runner can compare text by the rules of a
// language, which ignores those.
const (
	hidden = `[\p{C}\p{M}]*`
	// GitHub's "##[error]", Azure's "##vso[...]", TeamCity's "##teamcity[...]".
	hashes = `(#` + hidden + `)#([\p{L}\p{C}\p{M}]*\[)`
	// GitLab's sections, anywhere in a line.
	section = `section_(?:start|end):\d`
	// GitHub's "::error::" and similar, after white space.
	colons = `^[\s\p{Z}\p{C}\p{M}]*:` + hidden + `:`
	// Buildkite's groups. Files of a patch and results of "go test" stay as they are: their only
	// effect is a group with that title.
	usual = `^(?:---|\+\+\+) (?:"?[ab]/|/dev/null|FAIL:|PASS:|SKIP:|BENCH:)`
	group = `^(?:---|\+\+\+|~~~|\^\^\^)[ \t]` // the title may be missing
)

var (
	anywhere   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(hashes + `|` + section) })
	everywhere = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)` + usual + `|` + group + `|` + colons + `|` + hashes + `|` + section)
	})
	usualStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(usual) })
	hashesOnly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(hashes) })
)

// Disarm breaks the commands of CIs by a space: the text of a model, a command or a
// repository can't issue them in a log.
func Disarm(s string) string {
	if !mayCommand(s) {
		return s
	}
	return everywhere().ReplaceAllStringFunc(s, breakCommand)
}

// mayCommand is a fast test for texts without any of the characters.
func mayCommand(s string) bool {
	if strings.Count(s, ":") > 1 || strings.Count(s, "#") > 1 {
		return true
	}
	for _, run := range []string{"---", "+++", "~~~", "^^^", "section_"} {
		if strings.Contains(s, run) {
			return true
		}
	}
	return false
}

// DisarmInside is [Disarm] for text that is not at the start of a line.
func DisarmInside(s string) string { return anywhere().ReplaceAllStringFunc(s, breakCommand) }

func breakCommand(found string) string {
	at := len(found) - 1
	if strings.ContainsRune("-+~^", rune(found[0])) {
		if usualStart().MatchString(found) {
			return found
		}
		at = 1 // a line of a patch stays one
	}
	return found[:at] + " " + found[at:]
}

// JSON escapes hidden characters and the commands of CIs in a JSON document: the values of its
// strings are the same.
func JSON(text []byte) []byte {
	if bytes.ContainsFunc(text, Hidden) { // only in strings
		var out []byte
		for _, r := range string(text) {
			if Hidden(r) {
				out = AppendEscape(out, r)
			} else {
				out = utf8.AppendRune(out, r)
			}
		}
		text = out
	}
	return EscapeHashes(text, `\u0023`)
}

// AppendEscape appends a character as JSON escapes it.
func AppendEscape(out []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// EscapeHashes replaces the second "#" of each command that starts with two, such as
// "##vso[", in a document of a language that has an escape for the character.
func EscapeHashes(text []byte, escape string) []byte {
	if bytes.Count(text, []byte("#")) < 2 {
		return text
	}
	return hashesOnly().ReplaceAll(text, []byte("${1}"+escape+"${2}"))
}
