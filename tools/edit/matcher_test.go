package edit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestMatchers asks every matcher by itself. want are the pieces that it finds,
// with / between them; "" is no match.
func TestMatchers(t *testing.T) {
	find := map[string]func(text, old string) []span{}
	for _, m := range matchers() {
		find[m.name] = m.find
	}
	tests := []struct {
		matcher, name, text, old, want string
	}{
		{"exact", "one", "a b c", "b", "b"},
		{"exact", "several", "aba", "a", "a/a"},
		{"exact", "apart from each other", "aaaa", "aa", "aa/aa"},
		{"exact", "over lines", "a\nb\n", "a\nb", "a\nb"},
		{"exact", "with its white space", " a\n", "a ", ""},

		{"line-trimmed", "spaces before", "x\n  a\ny", "a", "  a"},
		{"line-trimmed", "tabs behind", "a\t\t\n", "a", "a\t\t"},
		{"line-trimmed", "in the piece", "a", "  a\t", "a"},
		{"line-trimmed", "several lines", " a\n\tb\nc", "a\nb", " a\n\tb"},
		{"line-trimmed", "blank lines are alike", "a\n \t\nb", "a\n\nb", "a\n \t\nb"},
		{"line-trimmed", "each place", " a\na\na ", "a", " a/a/a "},
		{"line-trimmed", "places that overlap", " a\na\na ", "a\na", " a\na/a\na "},
		{"line-trimmed", "a repetition with a beginning like it", "a\na\nb\n", "a\nb", "a\nb"},
		{"line-trimmed", "not a part of a line", "ab", "a", ""},
		{"line-trimmed", "not white space within", "a  b", "a b", ""},
		{"line-trimmed", "not a line less", "a\nb", "a\n\nb", ""},
		{"line-trimmed", "not beyond the end", "x\na", "a\nb", ""},
		{"line-trimmed", "Unicode white space", "\u2003a\u00a0\n\u3000b\u2028", "a\nb", "\u2003a\u00a0\n\u3000b\u2028"},
		{"line-trimmed", "a zero-width space is not whitespace", "\u200ba", "a", ""},

		{"block-anchor", "a line between that is like it", "s\nvalue = 1\ne", "s\nvalue = 2\ne", "s\nvalue = 1\ne"},
		{"block-anchor", "white space around anchors", " s\nvalue = 1\n\te", "s\nvalue = 2\ne", " s\nvalue = 1\n\te"},
		{"block-anchor", "just like enough", "s\n12345678901234567890\ne", "s\n1234567890123xxxxxxx\ne", "s\n12345678901234567890\ne"},
		{"block-anchor", "just not", "s\n12345678901234567890\ne", "s\n123456789012xxxxxxxx\ne", ""},
		{"block-anchor", "an average", "s\naaaa\nbbbb\ncccc\ne", "s\naaaa\nbbbb\nxxxx\ne", "s\naaaa\nbbbb\ncccc\ne"},
		{"block-anchor", "blank lines neither help nor harm", "s\n\n\n\n123456\ne", "s\n\n\n\n12345x\ne", "s\n\n\n\n123456\ne"},
		{"block-anchor", "blank lines don't make it like", "s\n\n\n\n123456\ne", "s\n\n\n\nabcdef\ne", ""},
		{"block-anchor", "nothing but blank lines between", "s\n \ne", "s\n\ne", "s\n \ne"},
		{"block-anchor", "a line more", "s\naaaa\nbbbb\ne", "s\naaaa\ne", "s\naaaa\nbbbb\ne"},
		{"block-anchor", "a line less", "s\naaaa\ne", "s\naaaa\nbbbb\ne", "s\naaaa\ne"},
		{"block-anchor", "not two lines more of three", "s\naaaa\nbbbb\ncccc\ne", "s\naaaa\ne", ""},
		{"block-anchor", "two lines more of eight", "s\n1\n2\n3\n4\n5\n6\n7\n8\ne", "s\n1\n2\n3\n4\n5\n6\ne", "s\n1\n2\n3\n4\n5\n6\n7\n8\ne"},
		{"block-anchor", "not three lines more of eight", "s\n1\n2\n3\n4\n5\n6\n7\n8\n9\ne", "s\n1\n2\n3\n4\n5\n6\ne", ""},
		{"block-anchor", "the end is not the first line like it", "f {\n if a {\n }\n return 1\n}\n", "f {\n if a {\n }\n return 2\n}", "f {\n if a {\n }\n return 1\n}"},
		{"block-anchor", "the most like of several", "s\nfoo(1)\ne\ns\nbar(2)\ne", "s\nbar(3)\ne", "s\nbar(2)\ne"},
		{"block-anchor", "the most like, wherever it is", "s\nbar(2)\ne\ns\nbat(2)\ne", "s\nbar(3)\ne", "s\nbar(2)\ne"},
		{"block-anchor", "all that are most like", "s\nbar(1)\ne\ns\nbar(2)\ne", "s\nbar(3)\ne", "s\nbar(1)\ne/s\nbar(2)\ne"},
		{"block-anchor", "not two lines", "s\ne", "s\ne", ""},
		{"block-anchor", "not blank anchors", "\nabc\n", "\nabd\n", ""},
		{"block-anchor", "not anchors that differ", "s1\nabc\ne", "s2\nabc\ne", ""},
		{"block-anchor", "characters, not bytes", "s\n日本語日本語日本語x\ne", "s\n日本語日本語日本語y\ne", "s\n日本語日本語日本語x\ne"},

		{"whitespace-normalised", "more of it", "a \t b", "a b", "a \t b"},
		{"whitespace-normalised", "less of it", "a b", "a   b", "a b"},
		{"whitespace-normalised", "a whole line with its indentation", "  a  b \n", "a b", "  a  b "},
		{"whitespace-normalised", "a part of a line", "x a  b y", "a b", "a  b"},
		{"whitespace-normalised", "parts of a line", "a  b a   b", "a b", "a  b/a   b"},
		{"whitespace-normalised", "a part at the end of words", "xa  by", "a b", "a  b"},
		{"whitespace-normalised", "a part with other letters around", "é a  日 é", "a 日", "a  日"},
		{"whitespace-normalised", "a part behind indentation", "\t\tif  x {", "if x", "if  x"},
		{"whitespace-normalised", "Unicode white space", "x a\u00a0\u3000b y", "a b", "a\u00a0\u3000b"},
		{"whitespace-normalised", "several lines", "a  b\n c\n", "a b\nc", "a  b\n c"},
		{"whitespace-normalised", "line breaks elsewhere", "a\nb c\n", "a b\nc", "a\nb c"},
		{"whitespace-normalised", "a line for two", "x\na b\n", "a\nb", "a b"},
		{"whitespace-normalised", "a line for two, and two lines", "a b\nx\na \nb\n", "a\nb", "a b/a \nb"},
		{"whitespace-normalised", "no whitespace to match", "ab", "a b", ""},
		{"whitespace-normalised", "not where there should be none", "a b", "ab", ""},
		{"whitespace-normalised", "not two lines for one", "a\nb", "a b", ""},

		{"indentation-flexible", "moved to the right", "  a\n    b", "a\n  b", "  a\n    b"},
		{"indentation-flexible", "moved to the left", "a\n  b", "    a\n      b", "a\n  b"},
		{"indentation-flexible", "spaces for tabs at the margin", "\ta\n\tb", "    a\n    b", "\ta\n\tb"},
		{"indentation-flexible", "the first line is not the margin", "    a\n  b", "  a\nb", "    a\n  b"},
		{"indentation-flexible", "blank lines don't count", "  a\n\n  b", "a\n   \nb", "  a\n\n  b"},
		{"indentation-flexible", "one of two", "a\n b\na\n  b", " a\n   b", "a\n  b"},
		{"indentation-flexible", "not another shape", "a\n b", "a\n  b", ""},
		{"indentation-flexible", "not white space at the end", "a \nb", "a\nb", ""},

		{"escape-normalised", "a newline", "x(\"a\nb\")", `"a\nb"`, "\"a\nb\""},
		{"escape-normalised", "a tab", "a\tb", `a\tb`, "a\tb"},
		{"escape-normalised", "quotes", `say("it's")`, `say(\"it\'s\")`, `say("it's")`},
		{"escape-normalised", "a backquote and a dollar", "`$x`", "\\`\\$x\\`", "`$x`"},
		{"escape-normalised", "a backslash", `a\b`, `a\\b`, `a\b`},
		{"escape-normalised", "a newline behind a backslash", "a\nb", "a\\\nb", "a\nb"},
		{"escape-normalised", "other backslashes stay", `\d+\"`, `\d+"`, `\d+\"`},
		{"escape-normalised", "the escape is in the file", "x\nit\\'s\n", "it's", "it\\'s"},
		{"escape-normalised", "the escape is in both, otherwise", `a\'b"`, `a'b\"`, `a\'b"`},
		{"escape-normalised", "lines of the file with escapes", "a\\tb\nc\\\"d\n", "a\tb\nc\"d", "a\\tb\nc\\\"d"},
		{"escape-normalised", "not other letters", `a\xb`, `a\yb`, ""},
		{"escape-normalised", "not what is blank without escapes", "a\nb", `\n`, ""},

		{"trimmed-boundary", "space around", "f(k)", " k ", "k"},
		{"trimmed-boundary", "newlines around", "a\nk\nb", "\n\nk\n\n", "k"},
		{"trimmed-boundary", "each place", "k k", " k", "k/k"},
		{"trimmed-boundary", "several lines", "a\n\nk\nl  \nb", "\nk\nl", "k\nl"},
		{"trimmed-boundary", "not where nothing is around", "k", "k", ""},
		{"trimmed-boundary", "not within", "a  b", " a b ", ""},
		{"trimmed-boundary", "not where nothing is within", " ", "  ", ""},

		{"context-aware", "half of the lines", "s\na\nb\ne", "s\na\nxxxxx\ne", "s\na\nb\ne"},
		{"context-aware", "all of one", " s\n a\n e", "s\na\ne", " s\n a\n e"},
		{"context-aware", "blank lines don't count", "s\n\na\nb\ne", "s\n\na\nx\ne", "s\n\na\nb\ne"},
		{"context-aware", "a blank line for another counts", "s\n\na\ne", "s\nx\na\ne", "s\n\na\ne"},
		{"context-aware", "each block", "s\na\ne\ns\na\ne", "s\na\ne", "s\na\ne/s\na\ne"},
		{"context-aware", "not less than half", "s\na\nb\nc\ne", "s\na\nx\ny\ne", ""},
		{"context-aware", "not another number of lines", "s\na\nb\nc\ne", "s\na\nb\ne", ""},
		{"context-aware", "not two lines", "s\ne", "s\ne", ""},
		{"context-aware", "not blank anchors", "\na\n", "\na\n", ""},

		{"multi-occurrence", "each place", "a b a", "a", "a/a"},
		{"multi-occurrence", "places that overlap", "aaaa", "aa", "aa/aa/aa"},
		{"multi-occurrence", "none", "a", "b", ""},
	}
	for _, tt := range tests {
		t.Run(tt.matcher+" "+tt.name, func(t *testing.T) {
			var got []string
			for _, s := range find[tt.matcher](tt.text, tt.old) {
				got = append(got, tt.text[s.start:s.end])
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "/")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// FuzzMatchers checks the places that every matcher finds: they are in order,
// within the text, not empty, and begin and end with characters.
func FuzzMatchers(f *testing.F) {
	f.Add("s\nfoo(1)\ne\ns\nbar(2)\ne\n", "s\nbar(3)\ne")
	f.Add("x = foo(  1,\u00a0  2 ); y", "foo( 1, 2 )")
	f.Add("a\n\nk\nl  \nb", "\nk\nl")
	f.Add("a\\tb\nc\\\"d\n", "a\tb\nc\"d")
	f.Add("  a\n    b\n  c", "a\n  b")
	f.Fuzz(func(t *testing.T, text, old string) {
		text, old = strings.ToValidUTF8(toLF(text), "?"), strings.ToValidUTF8(strings.TrimSuffix(toLF(old), "\n"), "?")
		if blank(old) {
			return
		}
		for _, m := range matchers() {
			last := span{-1, -1}
			for _, s := range m.find(text, old) {
				if s.start < last.start || s == last || s.start >= s.end || s.end > len(text) {
					t.Fatalf("%s finds %q in %q at %v behind %v", m.name, old, text, s, last)
				}
				if cut := text[s.start:s.end]; !utf8.RuneStart(cut[0]) || s.end < len(text) && !utf8.RuneStart(text[s.end]) {
					t.Fatalf("%s finds %q in %q at %v, within a character", m.name, old, text, s)
				}
				last = s
			}
		}
	})
}
