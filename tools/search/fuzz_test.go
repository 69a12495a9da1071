package search

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files/pathglob"
)

// Globs: reading one ends, says what is wrong, and what it makes of braces is
// what its alternatives are one by one.
func FuzzGlob(f *testing.F) {
	for _, c := range globCases {
		f.Add(c.glob, c.yes[0])
	}
	for _, glob := range []string{"{", "}", "[", `\`, "{a,{b}", "[[:x:]]", "{{{{}}}}", "!{a,b/}"} {
		f.Add(glob, "a/b")
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		p, err := parsePattern(glob)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "invalid glob ") {
				t.Errorf("error %v", err)
			}
			return
		}
		if strings.ContainsAny(glob, "{}") && !strings.Contains(glob, "/") {
			alternatives, err := pathglob.Expand(glob)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.ContainsFunc(alternatives, func(a string) bool {
				one, err := parsePattern(a)
				return err == nil && one.matches(path, false)
			})
			if got := p.matches(path, false); got != want {
				t.Errorf("%q matches %q: %v, its alternatives %q: %v", glob, path, got, alternatives, want)
			}
		}
		p.matches(path, true)
	})
}

// Regular expressions: the lines found are those that match one by one,
// whatever literals were looked for before.
func FuzzGrep(f *testing.F) {
	text := "func NewStreamingContext(ctx) {\n\nDEPRECATED\r\nK\u212a foo\xff\xfe123\nlast"
	for _, p := range []string{
		"NewStreaming", `func \w+Context\(`, "(?i)deprecated", "foo|last", "^$", `\d+`, "(?i)k", "K.?foo", "(?s).*", "[^a]", "(?i)(new|k)+", "foo.", `\x{fffd}`, "ed$", "(a|b|)x*", `\r`,
		"(?:foo){2,3}", "(?U)a+", "(?m)^f", `\bctx\b`, "(", "a{2,1}", "\\pL+", "(?i:dep)REC",
	} {
		f.Add(p, []byte(text))
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		m, err := newMatcher(pattern)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "invalid regular expression ") {
				t.Errorf("error %v", err)
			}
			return
		}
		if m.size > 2000 || len(text) > 1<<16 || slices.Contains(text, 0) || utf16Order(text) != nil || bytes.HasPrefix(text, markUTF8) {
			return
		}
		b := &buffer{}
		b.fit(int64(len(text)))
		scan := fileScan{matcher: m, buffer: b, limit: 1 << 20, path: "f"}
		scan.buffer.text = scan.buffer.text[:16] // so that blocks end everywhere
		if err := scan.run(t.Context(), bytes.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(naive(m.re, text), scan.matches); d != "" {
			t.Errorf("%q in %q (-want +got):\n%s", pattern, text, d)
		}
		if scan.total != len(scan.matches) {
			t.Errorf("total %d of %d", scan.total, len(scan.matches))
		}
		slowly(t, m, text)
	})
}

// naive finds the matching lines one by one.
func naive(re *regexp.Regexp, text []byte) []Match {
	var found []Match
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if re.Match(line) {
			left := 0
			if len(line) > maxText {
				left = window(line, re.FindIndex(line))
			}
			text, more := lineText(line[left:])
			found = append(found, Match{"f", n, text, left, more, strings.Contains(text, "\ufffd") && !utf8.Valid(line[left:])})
		}
	}
	return found
}

// slowly compares the way that long lines take with the usual one.
func slowly(t *testing.T, m *matcher, text []byte) {
	t.Helper()
	line, _, _ := bytes.Cut(text, []byte("\n"))
	patient := *m
	patient.size = patience + 1
	if got := patient.matches(context.Background(), line); got != m.re.Match(line) {
		t.Errorf("%q matches %q rune by rune: %v", m.re, line, got)
	}
}

func FuzzLineText(f *testing.F) {
	f.Add([]byte("a\xffb"), 3000)
	f.Add([]byte("日本"), 2000)
	f.Fuzz(func(t *testing.T, line []byte, times int) {
		line = bytes.Repeat(line, max(0, min(times, 10_000/(len(line)+1))))
		text, _ := lineText(line)
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxText {
			t.Errorf("%d characters, valid %v", utf8.RuneCountInString(text), utf8.ValidString(text))
		}
		if utf8.Valid(line) && !strings.HasPrefix(string(line), text) {
			t.Errorf("%q is not the start of the line", text)
		}
	})
}
