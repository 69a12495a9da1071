package edit

import (
	"errors"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	tests := []struct {
		name           string
		text, old, new string
		all            bool
		want           string
		count          int
	}{
		{"the only occurrence", "a b c", "b", "x", false, "a x c", 1},
		{"by nothing", "a b c", " b", "", false, "a c", 1},
		{"the whole text", "a", "a", "b", false, "b", 1},
		{"every occurrence", "a b a", "a", "x", true, "x b x", 2},
		{"all of one", "a b", "a", "x", true, "x b", 1},
		{"all, by text that holds the old one", "a a", "a", "aa", true, "aa aa", 2},
		{"all of those that overlap, from the left", "aaa", "aa", "b", true, "ba", 1},
		{"several lines", "1\n2\n3\n", "2\n3", "two\nthree", false, "1\ntwo\nthree\n", 1},
		{"signs of a pattern are letters", "f(x.*)", "(x.*)", "[y]", false, "f[y]", 1},
		{"signs of a replacement are letters", "price", "price", `$& $1 ${1} $$ \1 \n %s`, false, `$& $1 ${1} $$ \1 \n %s`, 1},
		{"and so they are for all", "p p", "p", `$&\`, true, `$&\ $&\`, 2},
		{"any script", "naïve 日本 🙂", "日本", "にほん", false, "naïve にほん 🙂", 1},
		{"bytes that are no text stay", "\xff a \xfe", "a", "b", false, "\xff b \xfe", 1},
		{"CRLF found by LF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", 1},
		{"CRLF found by CRLF, replaced by LF", "a\r\nb\r\n", "a\r\nb", "x\ny", false, "x\r\ny\r\n", 1},
		{"CRLF in the new text of a line", "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", 1},
		{"CRLF found by an LF at the beginning", "a\r\nb\r\n", "\nb", "", false, "a\r\n", 1},
		{"no CRLF comes into a text of LF", "a\nb\n", "a\nb", "x\ny", false, "x\ny\n", 1},
		{"an LF piece of a text that has CRLF elsewhere", "a\nb\nc\r\n", "a\nb", "x\ny", false, "x\ny\nc\r\n", 1},
		{"a CRLF piece of a text that has LF elsewhere", "a\r\nb\nc\n", "a\nb", "x\ny", false, "x\r\ny\nc\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replace(tt.text, tt.old, tt.new, tt.all)
			if want := (Result{Text: tt.want, Count: tt.count, Matcher: "exact"}); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestReplaceRefuses(t *testing.T) {
	tests := []struct {
		name           string
		text, old, new string
		all            bool
		want           error
		says           string
	}{
		{"an empty piece", "a", "", "b", false, ErrEmpty, "use write"},
		{"an empty piece, for all", "a", "", "b", true, ErrEmpty, "use write"},
		{"the same text", "a", "a", "a", false, ErrIdentical, "nothing to change"},
		{"the same text but for line ends that it would get", "a\r\nb", "a\nb", "a\r\nb", false, ErrIdentical, "nothing to change"},
		{"what is not there", "a", "b", "c", false, ErrNotFound, "read the file again"},
		{"what is not there, for all", "a", "b", "c", true, ErrNotFound, "read the file again"},
		{"white space that differs", "\tif x {", "    if x {", "y", false, ErrNotFound, "white space"},
		{"another case", "Total", "total", "x", false, ErrNotFound, "exactly"},
		{"another form of the same letter", "e\u0301", "\u00e9", "x", false, ErrNotFound, "exactly"},
		{"line numbers", "one\ntwo\n", "1: one", "x", false, ErrNotFound, "without line numbers"},
		{"two places", "a b a", "a", "x", false, ErrAmbiguous, "(2 times)"},
		{"five places", "aXaXaXaXa", "a", "b", false, ErrAmbiguous, "(5 times)"},
		{"two places that overlap", "}\n}\n}", "}\n}", "}", false, ErrAmbiguous, "replaceAll"},
		{"a text without anything", "", "a", "b", false, ErrNotFound, "read the file again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replace(tt.text, tt.old, tt.new, tt.all)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || got != (Result{}) {
				t.Errorf("got %+v, %v; want %q with %q", got, err, tt.want, tt.says)
			}
		})
	}
}

// FuzzReplace checks that exactly the piece is replaced: what is before and
// after it stays to the byte, and what comes in its place is new itself.
func FuzzReplace(f *testing.F) {
	f.Add("a b a", "a", "x", true)
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", false)
	f.Add("a\nb\nc\r\n", "a\nb", "$&\\1", false)
	f.Add("}\n}\n}", "}\n}", "", true)
	f.Add("\xff\xfe", "\xff", "\r\n", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		got, err := Replace(text, old, new, all)
		if err != nil {
			if got != (Result{}) {
				t.Errorf("an error with a result: %+v, %v", got, err)
			}
			return
		}
		if got.Text == text || got.Count < 1 || got.Count > 1 && !all {
			t.Fatalf("Replace(%q, %q, %q, %v) = %+v", text, old, new, all, got)
		}
		for _, piece := range []struct{ old, new string }{{old, new}, {withCRLF(old), withCRLF(new)}} {
			at := strings.Split(text, piece.old)
			if len(at) == got.Count+1 && strings.Join(at, piece.new) == got.Text {
				return
			}
		}
		t.Errorf("Replace(%q, %q, %q, %v) = %q changes more than the piece", text, old, new, all, got.Text)
	})
}
