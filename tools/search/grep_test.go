package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// grepLines searches and returns the matches as path:line:text.
func grepLines(t *testing.T, scope Scope, q Query) []string {
	t.Helper()
	r, err := Grep(t.Context(), scope, q)
	if err != nil {
		t.Fatal(err)
	}
	return asLines(r)
}

func asLines(r GrepResult) []string {
	var lines []string
	for _, m := range r.Matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
	}
	return lines
}

func TestGrepFindsLines(t *testing.T) {
	for _, c := range []struct {
		name, text, pattern string
		want                []string
	}{
		{"a literal", "a\nfoo\nb\nxfoox\n", "foo", []string{"f:2:foo", "f:4:xfoox"}},
		{"a line once, however often it matches", "foo foo\nfoo\n", "foo", []string{"f:1:foo foo", "f:2:foo"}},
		{"the last line without an end", "a\nfoo", "foo", []string{"f:2:foo"}},
		{"the only line", "foo", "foo", []string{"f:1:foo"}},
		{"nothing in an empty file", "", "x*", nil},
		{"an empty line", "a\n\nb\n", "^$", []string{"f:2:"}},
		{"no line after the last end", "a\n", "^$", nil},
		{"anchors hold for each line", "foo\nxfoo\nfoox\n", "^foo$", []string{"f:1:foo"}},
		{"CRLF is not part of the line", "foo\r\nbar\r\n", "o$", []string{"f:1:foo"}},
		{"a literal does not reach into CRLF", "foo\r\n", `foo\r`, nil},
		{"a CR inside a line is part of it", "foo\rbar\n", `foo\rb`, []string{"f:1:foo\rbar"}},
		{"a class without any literal", "ab\n12\n", `^\d+$`, []string{"f:2:12"}},
		{"a regular expression with a literal that lies", "fooX\nfoo1\n", `foo\d`, []string{"f:2:foo1"}},
		{"alternatives", "a\nfoo\nb\nquux\nbar\n", "foo|quux", []string{"f:2:foo", "f:4:quux"}},
		{"alternatives on one line", "quux foo\n", "foo|quux", []string{"f:1:quux foo"}},
		{"no regard for the case", "DEPRECATED\nDeprecated\ndeprecate\n", "(?i)deprecated", []string{"f:1:DEPRECATED", "f:2:Deprecated"}},
		{"no regard for the case beyond ASCII", "\u212aelvin\nKELVIN\nÉTÉ kelvin\n", "(?i)kelvin", []string{"f:1:\u212aelvin", "f:2:KELVIN", "f:3:ÉTÉ kelvin"}},
		{"no regard for the case of other letters", "ÉTÉ\n", "(?i)été", []string{"f:1:ÉTÉ"}},
		{"a long s", "tran\u017flate\n", "(?i)translate", []string{"f:1:tran\u017flate"}},
		{"bytes that are not UTF-8 are shown as such", "caf\xe9 foo\n", "foo", []string{"f:1:caf\ufffd foo"}},
		{"bytes that are not UTF-8 match a dot", "caf\xe9!\n", "caf.!", []string{"f:1:caf\ufffd!"}},
		{"U+FFFD matches what is not UTF-8", "a\xffb\n", "a\ufffdb", []string{"f:1:a\ufffdb"}},
		{"a binary file has no matches", "foo\x00\n", "foo", nil},
		{"a binary file has no matches before the NUL either", "foo\n" + strings.Repeat("x\n", 300_000) + "\x00", "foo", nil},
		{"a match after many blocks", strings.Repeat("line\n", 200_000) + "foo\n", "foo", []string{"f:200001:foo"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := grepLines(t, Scope{Root: openTree(t, map[string]string{"f": c.text})}, Query{Pattern: c.pattern})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Lines of every length around the buffer's sizes, so that blocks end at every
// place of a line.
func TestGrepCountsLinesAcrossBlocks(t *testing.T) {
	for _, n := range []int{firstRead - 5, firstRead - 4, firstRead - 1, firstRead, firstRead + 1, 3 * firstRead, 1 << 20, maxReused} {
		long := strings.Repeat("x", n)
		text := "foo 1\n" + long + "\nfoo 3\n" + long + "foo\nfoo 5\n" + long
		r, err := Grep(t.Context(), Scope{Root: openTree(t, map[string]string{"f": text})}, Query{Pattern: `foo( \d)?`})
		if err != nil {
			t.Fatal(err)
		}
		var lines []int
		for _, m := range r.Matches {
			lines = append(lines, m.Line)
		}
		if d := cmp.Diff([]int{1, 3, 4, 5}, lines); d != "" {
			t.Errorf("lines of %d bytes (-want +got):\n%s", n, d)
		}
	}
}

func TestGrepSearchesLongLinesToTheirEnd(t *testing.T) {
	long := maxReused + 1
	if testing.Short() { // the race detector needs minutes for such lines
		long = 256 << 10
	}
	text := strings.Repeat("x", long) + "Needle;\nNeedle;\n" + strings.Repeat("y", long/8) + "Needle;" + strings.Repeat("z", long/8)
	utf16 := append([]byte("\xff\xfe"), bytes.ReplaceAll([]byte(text), nil, []byte{0})[1:]...)
	for name, content := range map[string]string{"utf8": text, "utf16": string(utf16)} {
		root := openTree(t, map[string]string{"f": content})
		for _, pattern := range []string{"Needle", "(?i)needle", "[A-Z]eedle;", "(?:y|x)Needle|^Needle", `\bNeedle|\w+Needle\b`} {
			r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: pattern, fileTime: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Matches) != 3 || r.Matches[0].Line != 1 || r.Matches[2].Line != 3 || len(r.Matches[0].Text) > maxText || !strings.Contains(r.Matches[1].Text, "Needle;") {
				t.Errorf("%s, %s: %d matches, %.100v", name, pattern, len(r.Matches), r.Matches)
			}
		}
	}
}

func TestGrepCutsTexts(t *testing.T) {
	for _, unit := range []string{"x", "é", "日", "😀", "\xff\xfe"} {
		text := "foo" + strings.Repeat(unit, 3000)
		r, err := Grep(t.Context(), Scope{Root: openTree(t, map[string]string{"f": text})}, Query{Pattern: "foo"})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Matches[0].Text
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxText {
			t.Errorf("%q...: got %d characters", text[:10], utf8.RuneCountInString(got))
		}
		if utf8.ValidString(unit) && utf8.RuneCountInString(got) != maxText {
			t.Errorf("%q...: got only %d characters", text[:10], utf8.RuneCountInString(got))
		}
	}
}

func TestGrepGivesNewestFilesFirst(t *testing.T) {
	root := openTree(t, map[string]string{"old": "foo 1\nfoo 2\n", "b/new": "foo 3\nfoo 4\n", "a/same": "foo 5\n", "z": "bar\n"})
	setTime(t, filepath.Join(root.Name(), "b/new"), aTime.Add(time.Hour))
	all := []string{"b/new:1:foo 3", "b/new:2:foo 4", "a/same:1:foo 5", "old:1:foo 1", "old:2:foo 2"}
	for limit := range 7 {
		r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: "foo", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		want := all
		if limit > 0 {
			want = all[:min(limit, len(all))]
		}
		if d := cmp.Diff(want, asLines(r)); d != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, d)
		}
		if r.Total != 5 || r.Files != 3 || r.Truncated != (len(want) < 5) {
			t.Errorf("limit %d: total %d in %d files, truncated %v", limit, r.Total, r.Files, r.Truncated)
		}
	}
}

func TestGrepIncludes(t *testing.T) {
	root := openTree(t, map[string]string{"a.go": "x", "b.ts": "x", "d/c.go": "x", "d/e/f.tsx": "x", "g": "x"})
	for _, c := range []struct {
		base, include string
		want          []string
	}{
		{"", "", []string{"a.go:1:x", "b.ts:1:x", "d/c.go:1:x", "d/e/f.tsx:1:x", "g:1:x"}},
		{"", "*.go", []string{"a.go:1:x", "d/c.go:1:x"}},
		{"", "*.{ts,tsx}", []string{"b.ts:1:x", "d/e/f.tsx:1:x"}},
		{"", "d/*", []string{"d/c.go:1:x"}},
		{"d", "e/*", []string{"d/e/f.tsx:1:x"}},
		{"d", "", []string{"d/c.go:1:x", "d/e/f.tsx:1:x"}},
		{"./d/e/", "", []string{"d/e/f.tsx:1:x"}},
		{"", "!*.go", []string{"b.ts:1:x", "d/e/f.tsx:1:x", "g:1:x"}},
		{"g", "*.go", []string{"g:1:x"}},
		{"d/c.go", "", []string{"d/c.go:1:x"}},
	} {
		t.Run(c.base+" "+c.include, func(t *testing.T) {
			got := grepLines(t, Scope{Root: root, Base: c.base}, Query{Pattern: "x", Include: c.include})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestGrepSkipsHugeFiles(t *testing.T) {
	root := openTree(t, map[string]string{"small": "foo"})
	if err := root.WriteFile("huge", []byte("foo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(root.Name(), "huge"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: "foo"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Total != 1 || r.Skipped.TooLarge != 1 || r.Skipped.String() != "files larger than 64 MiB skipped: 1" {
		t.Errorf("total %d, skipped %q", r.Total, r.Skipped)
	}
}

func TestMalformedExpressions(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"foo(", `invalid regular expression "foo(": missing closing ) at character 5`},
		{"é)(", `invalid regular expression "é)(": unexpected ) at character 2`},
		{"[z-a]é[z-a]", `invalid regular expression "[z-a]é[z-a]": invalid character class range at character 2: z-a`},
		{"a[b", `invalid regular expression "a[b": missing closing ] at character 2: [b`},
		{"*", `invalid regular expression "*": missing argument to repetition operator at character 1`},
		{"(*)(*)", `invalid regular expression "(*)(*)": missing argument to repetition operator at character 2: *`},
		{"x\\", `invalid regular expression "x\\": trailing backslash at end of expression at character 2`},
		{`\pX\pX`, `invalid regular expression "\\pX\\pX": invalid character class range at character 1: \pX`},
		{"été[z-a]", `invalid regular expression "été[z-a]": invalid character class range at character 5: z-a`},
		{"a**", `invalid regular expression "a**": invalid nested repetition operator at character 2: **`},
		{"a(?=b)", `invalid regular expression "a(?=b)": invalid or unsupported Perl syntax at character 2: (?=; RE2 syntax does not support lookahead and lookbehind`},
		{`(a)\1`, `invalid regular expression "(a)\\1": invalid escape sequence at character 4: \1`},
		{`a\nb`, `invalid regular expression "a\\nb": \n never matches, because each line is searched separately`},
		{`a{1001}`, `invalid regular expression "a{1001}": invalid repeat count at character 2: {1001}`},
		{"((a{100}){100}){100}", `invalid regular expression "((a{100}){100}){100}": invalid repeat count: {100}`},
		{"a\xff", `invalid regular expression "a\xff": invalid UTF-8 at character 2`},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			_, err := Grep(t.Context(), Scope{Root: openTree(t, nil)}, Query{Pattern: c.pattern})
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestGrepRefusesAMalformedInclude(t *testing.T) {
	_, err := Grep(t.Context(), Scope{Root: openTree(t, nil)}, Query{Pattern: "x", Include: "*.{a"})
	if err == nil || !strings.Contains(err.Error(), "unclosed {") {
		t.Errorf("got error %v", err)
	}
}

// The expression's program is so large that one line would take minutes. The
// search ends because the context does, within the line.
func TestGrepIsStoppedWithinALine(t *testing.T) {
	line := make([]byte, 1<<20)
	for i, rng := 0, rand.New(rand.NewPCG(5, 6)); i < len(line); i++ {
		line[i] = "ab"[rng.IntN(2)]
	}
	root := openTree(t, map[string]string{"f": string(line) + "\n"})
	var pattern strings.Builder
	for i := range 60 {
		fmt.Fprintf(&pattern, "a[ab]{%d}c|", 900+i)
	}
	pattern.WriteString("d")
	ctx, cancel := context.WithCancelCause(t.Context())
	visible := func(string) bool { // the search has begun
		time.AfterFunc(50*time.Millisecond, func() { cancel(nil) })
		return true
	}
	_, err := Grep(ctx, Scope{Root: root, Visible: visible}, Query{Pattern: pattern.String()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

// A file that is searched for too long costs its time and no more: what was found in it
// counts, and so do the others.
func TestSlowFileIsSearchedPartially(t *testing.T) {
	slow := "needle c\n" + strings.Repeat(strings.Repeat("a", 1<<20)+"\n", 3) + "needle c\n"
	root := openTree(t, map[string]string{"slow": slow, "quick": "needle c\n"})
	pattern := "needle c|(" + strings.Repeat("(a|a?){1,500}b|", 60) + "c)$"
	r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: pattern, fileTime: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Skipped.TooSlow == 0 || !strings.Contains(r.Skipped.String(), "files searched only partly") || r.Skipped.Unreadable != 0 {
		t.Errorf("skipped %q", r.Skipped)
	}
	for _, line := range asLines(r) {
		if line != "slow:1:needle c" && line != "quick:1:needle c" {
			t.Errorf("found %s", line)
		}
	}
}
