package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// line3MB is a text of one line in which "needle" stands 50,000 times.
func line3MB() string { return strings.Repeat(strings.Repeat("x", 54)+"needle", 50_000) }

func TestReplaceInALongLine(t *testing.T) {
	text := line3MB()
	got, err := Replace(text, "needle", "pin\n", true)
	if err != nil || got.Count != 50_000 || got.Text != strings.ReplaceAll(text, "needle", "pin\n") {
		t.Errorf("%d replacements, %v", got.Count, err)
	}
	if _, err := Replace(text, "needle", "pin", false); !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "(50000 matches)") {
		t.Error(err)
	}
	if got, err = Replace(strings.ReplaceAll(text, "xn", "x  n"), "x needle", "pin", true); err != nil || got.Count != 50_000 {
		t.Errorf("%d replacements by %s, %v", got.Count, got.Matcher, err)
	}
	if _, err := Replace(text, "needles", "pin", true); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestHostileTextsEnd has texts that are slow to search for one who compares
// every line at every line. Each must end, in whatever way; the tests' own
// deadline is the measure.
func TestHostileTextsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	const size = 1 << 18
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := []struct{ name, text, old string }{
		{"anchors everywhere", strings.Repeat("a\n", size/2), "a\n" + strings.Repeat("b\n", 998) + "a"},
		{"anchors everywhere and half of the lines", strings.Repeat("a\n", size/2), strings.Repeat("a\n", 600) + strings.Repeat("b\n", 399) + "a"},
		{"anchors everywhere and lines that are like", strings.Repeat("anchor\nline with words\n", size/23), "anchor\n" + lines(998, "line %d of words\n") + "anchor"},
		{"long lines between anchors", strings.Repeat("s\n"+strings.Repeat("ab", 50_000)+"\ne\n", 30), "s\n" + strings.Repeat("ba", 60_000) + "x\ne"},
		{"lines that repeat to the end of the piece", strings.Repeat("a\n", size/2), strings.Repeat("a\n", 999) + "b"},
		{"a piece that overlaps with itself", strings.Repeat("a", size), strings.Repeat("a", size/2)},
		{"lines that overlap with themselves", strings.Repeat(" a\n", size/3), strings.Repeat("a\n", 1000)},
		{"nothing but blank lines", strings.Repeat("\n", size), strings.Repeat("\n", 1000) + "a"},
		{"nothing but spaces", strings.Repeat(" ", size), "a" + strings.Repeat(" ", 1000) + "b"},
		{"spaces between words", strings.Repeat("a  ", size/3), strings.Repeat("a ", 1000) + "b"},
		{"nothing but backslashes", strings.Repeat(`\`, size), strings.Repeat(`\`, 1001) + "n"},
		{"lines of escapes", strings.Repeat(`\\n`+"\n", size/4), strings.Repeat(`\n`+"\n", 1000) + "x"},
		{"CRLF", strings.Repeat("a\r\n", size/3), strings.Repeat("a\n", 999) + "b"},
		{"a piece larger than the text", "a\nb\n", strings.Repeat("a\n", size/2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, all := range []bool{false, true} {
				if got, err := Replace(tt.text, tt.old, "new", all); err == nil && got.Count == 0 {
					t.Error("no error, and nothing replaced")
				}
			}
		})
	}
}

func BenchmarkReplace(b *testing.B) {
	text := line3MB()
	source := strings.Repeat("func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n\n", 80_000)
	for name, tt := range map[string]struct {
		text, old string
		all       bool
	}{
		"50000 in a line":             {text, "needle", true},
		"not in a line":               {text, "needles", false},
		"not in 480000 lines":         {source, "func f() {\n  if y {\n    return 2\n  }\n}", false},
		"one of 480000 lines":         {source + "last\n", "last", false},
		"white space in 480000 lines": {source + "  last\n", "last ;", false},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.text)))
			for b.Loop() {
				_, _ = Replace(tt.text, tt.old, "pin", tt.all)
			}
		})
	}
}
