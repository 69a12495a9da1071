package testcases

import (
	"regexp"
	"strings"
	"sync"
)

// Cases returns the names of the test cases that a text declares, in their order; "" for one without a name. A text of
// more than 1 MiB declares none.
func Cases(file string, text []byte) []string { return Read(file, text).cases }

// Mixed reports whether tests are also in files with other code, in the language of a file.
func Mixed(file string) bool {
	l := languageOf(file)
	return l != nil && l.anywhere
}

// InString stands for a byte of a string in [Code].
const InString = 1

// Code returns a text in which comments are spaces, and the contents of strings InString; false if the language of the file is not
// known.
func Code(file, text string) (masked string, known bool) {
	l := languageOf(file)
	if l == nil || len(text) > maxText {
		return text, false
	}
	return l.lexis.fill(text, InString), true
}

// Disable returns a text in which the cases with some names do not run, and whether it could disable all of them. The rest
// of the text stays as it is: what only these cases use is still used.
func Disable(file, text string, off func(name string) bool) (disabled string, all bool) {
	l := languageOf(file)
	if l == nil || len(text) > maxText {
		return text, false
	}
	code := l.lexis.mask(text)
	var b strings.Builder
	at := 0
	all = true
	for _, m := range l.cases.FindAllStringSubmatchIndex(code, -1) {
		if !off(l.caseName(text, code, m)) {
			continue
		}
		from, to, insert := l.mark(code, m)
		if from < at || insert == "" {
			all = false
			continue
		}
		b.WriteString(text[at:from])
		b.WriteString(insert)
		at = to
	}
	b.WriteString(text[at:])
	return b.String(), all
}

// mark returns what to replace to disable a case, and by what; "" if that is not known.
func (l *language) mark(code string, m []int) (from, to int, by string) {
	switch l.off {
	case renamed:
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				return m[i], m[i], "x"
			}
		}
	case notDisabled:
	case skipped:
		// The function is the last word before the first point or parenthesis that follows a letter.
		start := m[0] + strings.IndexFunc(code[m[0]:m[1]], isLetter)
		word := strings.IndexFunc(code[start:m[1]], func(r rune) bool { return !isLetter(r) && r != ' ' })
		if name := code[start : start+max(word, 0)]; strings.HasPrefix(name, "await ") || name == "Deno" || strings.HasPrefix(name, "x") || strings.HasPrefix(name, "f") {
			return 0, 0, ""
		}
		return start + word, start + word, ".skip"
	case commented:
		end := m[1]
		if code[m[0]] == '#' { // an attribute, up to its bracket
			n := strings.IndexByte(code[end:], ']')
			if n < 0 {
				return 0, 0, ""
			}
			end += n + 1
		}
		return m[0], end, "/*" + strings.ReplaceAll(code[m[0]:end], "*/", "") + "*/"
	}
	return 0, 0, ""
}

func isLetter(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// assertion matches the calls and statements that let a test fail, in the languages and libraries that are usual.
var assertion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bassert\w*!?[\s(.]|\b(?:expect|expect_\w+|assert_\w+|verify)[(.{]|\bexpect \{|\.should\b|\bshould[(.]|\b(?:require|check|is|qt|td)\.\w+\(|` +
		`\bt\.(?:errorf?|fatalf?|fail|failnow|is|ok|equal|deepequal|throws)\(|\b(?:pytest\.(?:raises|fail)|self\.fail|refute\w*|must_\w+|wont_\w+)\b|\bcmp\.diff\(|` +
		`^(?:test|\[\[?)\s|\b(?:ok|is|is_deeply|like)\(|\b(?:exit [1-9]|die)\b|\bgot\b.*!=|!= want\b`)
})

// Asserts reports whether a line of a test has an assertion, by its look.
func Asserts(line string) bool {
	for _, comment := range []string{"//", "#", "*", "/*"} {
		if strings.HasPrefix(line, comment) {
			return false
		}
	}
	return assertion().MatchString(line)
}
