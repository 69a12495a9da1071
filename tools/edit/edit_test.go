package edit

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReplace(t *testing.T) {
	tests := []struct {
		name           string
		text, old, new string
		all            bool
		want           string
		count, line    int
	}{
		{"the only occurrence", "a b c", "b", "x", false, "a x c", 1, 1},
		{"by nothing", "a b c", " b", "", false, "a c", 1, 1},
		{"the whole text", "a", "a", "b", false, "b", 1, 1},
		{"every occurrence", "z\na b a", "a", "x", true, "z\nx b x", 2, 2},
		{"all of one", "a b", "a", "x", true, "x b", 1, 1},
		{"all, by text that holds the old one", "a a", "a", "aa", true, "aa aa", 2, 1},
		{"all of those that overlap, from the left", "aaa", "aa", "b", true, "ba", 1, 1},
		{"several lines", "1\n2\n3\n", "2\n3", "two\nthree", false, "1\ntwo\nthree\n", 1, 2},
		{"signs of a pattern are letters", "f(x.*)", "(x.*)", "[y]", false, "f[y]", 1, 1},
		{"signs of a replacement are letters", "price", "price", `$& $1 ${1} $$ \1 \n %s`, false, `$& $1 ${1} $$ \1 \n %s`, 1, 1},
		{"and so they are for all", "p p", "p", `$&\`, true, `$&\ $&\`, 2, 1},
		{"any script", "naïve 日本 🙂", "日本", "にほん", false, "naïve にほん 🙂", 1, 1},
		{"bytes that are no text stay", "\xff a \xfe", "a", "b", false, "\xff b \xfe", 1, 1},
		{"white space alone, as it is", "a \n  b", "\n  ", ";", false, "a ;b", 1, 1},
		{"CRLF found by LF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", 1, 1},
		{"CRLF found by CRLF, replaced by LF", "a\r\nb\r\n", "a\r\nb", "x\ny", false, "x\r\ny\r\n", 1, 1},
		{"CRLF in the new text of a line", "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", 1, 2},
		{"CRLF found by an LF at the beginning", "a\r\nb\r\n", "\nb", "", false, "a\r\n", 1, 1},
		{"CRLF in the last line, which has no end", "a\r\nb", "b", "x\ny", false, "a\r\nx\r\ny", 1, 2},
		{"no CRLF comes into a text of LF", "a\nb\n", "a\nb", "x\r\ny", false, "x\ny\n", 1, 1},
		{"a line without an end takes any", "a", "a", "x\r\ny", false, "x\r\ny", 1, 1},
		{"an LF piece of a text that has CRLF elsewhere", "a\nb\nc\r\n", "a\nb", "x\ny", false, "x\ny\nc\r\n", 1, 1},
		{"a CRLF piece of a text that has LF elsewhere", "a\r\nb\nc\n", "a\nb", "x\ny", false, "x\r\ny\nc\n", 1, 1},
		{"a piece of both", "a\nb\r\nc\nd\r\n", "b\nc", "x\ny", false, "a\nx\r\ny\nd\r\n", 1, 2},
		{"each line with its own end", "a\nb\r\na\n", "a", "x\ny", true, "x\ny\nb\r\nx\ny\n", 2, 1},
		{"every CRLF line", "a\r\na\r\n", "a", "x\ny", true, "x\r\ny\r\nx\r\ny\r\n", 2, 1},
		{"a line end by itself", "a\r\nb\r\n", "a\n", "a;\n", false, "a;\r\nb\r\n", 1, 1},
		{"a carriage return within a line", "a\rb\r\nc\r\n", "c", "d", false, "a\rb\r\nd\r\n", 1, 2},
		{"behind a byte-order mark", bom + "a\nb", "a", "x", false, bom + "x\nb", 1, 1},
		{"with a byte-order mark in the piece", bom + "a\nb", bom + "a", "x", false, bom + "x\nb", 1, 1},
		{"with a byte-order mark in both", bom + "a\nb", bom + "a", bom + "x", false, bom + "x\nb", 1, 1},
		{"a byte-order mark elsewhere", "a" + bom + "b", bom, "", false, "ab", 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replace(tt.text, tt.old, tt.new, tt.all)
			if want := (Result{Text: tt.want, Count: tt.count, Matcher: "exact", Line: tt.line}); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestReplaceTriesMatchersInOrder(t *testing.T) {
	tests := []struct {
		name           string
		text, old, new string
		all            bool
		matcher, want  string
	}{
		{"indentation goes with the piece", "  a\n    b\n  c\n", "a\nb\nc", "X", false, "line-trimmed", "  X\n"},
		{"the indentation of the new text is shifted", "  if x:\n    y\n", "if x:\n  y", "  Q", false, "line-trimmed", "    Q\n"},
		{"one place of several is the only whole line", "f(x)\n  x\n", "x", "y", false, "line-trimmed", "f(x)\n  y\n"},
		{"a newline at the ends of both is one", "  a\nb\n", "a \n", "x\n", false, "line-trimmed", "  x\nb\n"},
		{"a newline at the end of the old text alone stays", "  a\nb\n", "a \n", "x", false, "line-trimmed", "  x\nb\n"},
		{"a line removed with its newline", "z\n  a\nb\n", "a \n", "", false, "line-trimmed", "z\nb\n"},
		{"and with its CRLF", "z\r\n  a\r\nb\r\n", "a \n", "", false, "line-trimmed", "z\r\nb\r\n"},
		{"a last line without newline gets none", "z\n  a", "a\n", "x\n", false, "line-trimmed", "z\n  x"},
		{"CRLF and other white space", "  a\r\n  b\r\nc\r\n", "a\nb", "x\ny", false, "line-trimmed", "  x\r\n  y\r\nc\r\n"},
		{"Unicode white space", "\u00a0a\u3000\nb\n", "a\nb", "x", false, "line-trimmed", "\u00a0x\n"},
		{"behind a byte-order mark", bom + "  a\n", "a\n", "x\n", false, "exact", bom + "  x\n"},
		{"all that differ in white space", "  a;\n\tb\n a;\n b\n", "a;\nb", "x", true, "line-trimmed", "  x\n x\n"},
		{"signs stay literal", "  a\n  b\n", "a\nb", `$1 \n $&`, true, "line-trimmed", `  $1 \n $&` + "\n"},
		{"the block most like it", "s\nfoo(1)\ne\ns\nbar(2)\ne\n", "s\nbar(3)\ne", "Q", false, "block-anchor", "s\nfoo(1)\ne\nQ\n"},
		{"the block with its newline", "s\nbar(2)\ne\nz\n", "s\nbar(3)\ne\n", "Q\n", false, "block-anchor", "Q\nz\n"},
		{"a block for all, if there is one", "s\nbar(2)\ne\n", "s\nbar(3)\ne", "Q", true, "block-anchor", "Q\n"},
		{"white space within", "foo(  1,   2 )", "foo( 1, 2 )", "Q", false, "whitespace-normalised", "Q"},
		{"white space within a part of a line", "x = foo(  1,   2 ); y", "foo( 1, 2 )", "Q", false, "whitespace-normalised", "x = Q; y"},
		{"parts of lines, all", "f( 1 ) f(  1 )\nf( 1  )\n", "f(\t1 )", "g", true, "whitespace-normalised", "g g\ng\n"},
		{"inner indentation", "a\n b\nx\n a\n  b\na\nb\n", "    a\n     b", "Q", false, "", ""},
		{"inner indentation that is there once", "  a\n   b\nx\na\nb\n", "    a\n     b", "    Q", false, "indentation-flexible", "  Q\nx\na\nb\n"},
		{"an escape too many", "say(\"a\nb\")", `say("a\nb")`, "Q", false, "escape-normalised", "Q"},
		{"an escape too many, in CRLF", "say(\"a\r\nb\")\r\n", `say("a\nb")`, "Q\nR", false, "escape-normalised", "Q\r\nR\r\n"},
		{"blank lines around", "k v", "\nk v\n", "Q", false, "whitespace-normalised", "Q"},
		{"space around lines", "f(k\n v)", " k\n v ", "Q", false, "trimmed-boundary", "f(Q)"},
		{"half of the lines between", "s\none\n!!!!!!\ne\n", "s\none\n??????????\ne", "s\nONE\n??????????\ne", false, "context-aware", "s\nONE\n!!!!!!\ne\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replace(tt.text, tt.old, tt.new, tt.all)
			if tt.matcher == "" {
				if !errors.Is(err, ErrAmbiguous) {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if err != nil || got.Matcher != tt.matcher || got.Text != tt.want {
				t.Errorf("got %+v, %v; want %q by %s", got, err, tt.want, tt.matcher)
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
		{"the same text except for converted line endings", "a\r\nb", "a\nb", "a\r\nb", false, ErrIdentical, "nothing to change"},
		{"what the file has already", "a  b\n", "a b", "a  b", false, ErrIdentical, "nothing to change"},
		{"what is not there", "a", "b", "c", false, ErrNotFound, "read the file again"},
		{"what is not there, for all", "a", "b", "c", true, ErrNotFound, "read the file again"},
		{"white space alone that differs", "a\n\nb", " \n ", "y", false, ErrNotFound, "including whitespace"},
		{"white space that is missing", "ab", "a b", "y", false, ErrNotFound, "including whitespace"},
		{"another case", "Total", "total", "x", false, ErrNotFound, "exactly"},
		{"another form of the same letter", "e\u0301", "\u00e9", "x", false, ErrNotFound, "exactly"},
		{"line numbers", "one\ntwo\n", "1: one", "x", false, ErrNotFound, "without line numbers"},
		{"two places", "a b a", "a", "x", false, ErrAmbiguous, "(2 matches)"},
		{"five places", "aXaXaXaXa", "a", "b", false, ErrAmbiguous, "(5 matches)"},
		{"two places that overlap", "}\n}\n}", "}\n}", "}", false, ErrAmbiguous, "(2 matches)"},
		{"three places that overlap", "aaaa", "aa", "b", false, ErrAmbiguous, "(3 matches)"},
		{"two places in other line ends", "a\nb\r\na\r\nb\n", "a\nb", "x", false, ErrAmbiguous, "(2 matches)"},
		{"two whole lines", "x=1\ny\nx=1\n", "x=1", "Z", false, ErrAmbiguous, "(2 matches)"},
		{"two places that are exact, and one that is not", "a  b\na b\na b\n", "a b", "Q", false, ErrAmbiguous, "(2 matches)"},
		{"two matches except for whitespace", "  a;\n\ta;\n", "a; ", "Q", false, ErrAmbiguous, "(2 matches)"},
		{"two blocks that are as much alike", "s\nbar(1)\ne\ns\nbar(2)\ne\n", "s\nbar(3)\ne", "Q", false, ErrAmbiguous, "(2 matches)"},
		{"two similar blocks, for all", "s\nbar(1)\ne\ns\nbar(2)\ne\n", "s\nbar(3)\ne", "Q", true, ErrAmbiguous, "(2 matches)"},
		{"a block whose inside is another", "f(){\n  real1\n  real2\n}\n", "f(){\nzzz\n}", "X", false, ErrNotFound, "read"},
		{"two anchors and nothing between", "f(){\n a\n b\n}\n", "f(){\n}\n", "X", false, ErrNotFound, "read"},
		{"several blocks whose inside is another", "s\nq1\ne\ns\nq2\ne\n", "s\nzzzzzzz\ne", "Q", false, ErrNotFound, "read"},
		{"many lines for one", "a\nb\nc\nd\n", `a\nb\nc\nd`, "x", false, ErrOversized, "4 lines and 7 bytes at line 1, oldString has 1 line and"},
		{"long lines for short ones", "a" + strings.Repeat(" ", 600) + "b\nc\n", "a b\nc", "x", false, ErrOversized, "set oldString to the complete text"},
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

// FuzzReplace checks that what is before the first place and behind the last
// stays to the byte, and that text stays text.
func FuzzReplace(f *testing.F) {
	f.Add("a b a", "a", "x", true)
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", false)
	f.Add("a\nb\nc\r\n", "a\nb", "$&\\1", false)
	f.Add("}\n}\n}", "}\n}", "", true)
	f.Add("\xff\xfe", "\xff", "\r\n", false)
	f.Add(bom+"  a\r\n\tb\r\n", "a\nb\n", "", false)
	f.Add("s\nfoo(1)\ne\ns\nbar(2)\ne\n", "s\nbar(3)\ne", "Q", false)
	f.Add("x = foo(  1,\u00a0  2 ); y", "foo( 1, 2 )", "Q", true)
	f.Add("say(\"a\nb\")", `say("a\nb")`, "Q\n", false)
	f.Add("f(k v)\n", " k v ", "Q", false)
	f.Add("s\none\n!!!!!!\ne\n", "s\none\n??????????\ne\n", "Q\r\n", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		got, err := Replace(text, old, new, all)
		if err != nil {
			if got != (Result{}) {
				t.Errorf("an error with a result: %+v, %v", got, err)
			}
			return
		}
		if got.Text == text || got.Count < 1 || got.Count > 1 && !all || got.Line < 1 || got.Line > strings.Count(text, "\n")+1 {
			t.Fatalf("Replace(%q, %q, %q, %v) = %+v", text, old, new, all, got)
		}
		if utf8.ValidString(text) && utf8.ValidString(old) && utf8.ValidString(new) && !utf8.ValidString(got.Text) {
			t.Errorf("Replace(%q, %q, %q, %v) = %q is no text", text, old, new, all, got.Text)
		}
		checkOutside(t, text, old, new, all, got)
	})
}

func checkOutside(t *testing.T, text, old, new string, all bool, got Result) {
	t.Helper()
	bare, marked := strings.CutPrefix(text, bom)
	if marked {
		old, new = strings.TrimPrefix(old, bom), strings.TrimPrefix(new, bom)
	}
	plain, old := toLF(bare), toLF(old)
	spans, name, err := locate(plain, old, all)
	if err != nil {
		t.Fatal(err)
	}
	if name != "exact" {
		spans = withNewline(plain, spans, old, new)
	}
	at := 0
	for _, s := range spans {
		if s.start < at || s.end <= s.start {
			t.Fatalf("places %v", spans)
		}
		at = s.end
	}
	after := strings.TrimPrefix(got.Text, bom)
	head, tail := original(bare, spans[0].start), bare[len(original(bare, at)):]
	if !strings.HasPrefix(after, head) || !strings.HasSuffix(after, tail) {
		t.Errorf("Replace(%q, %q, %q, %v) = %q changes what is around the piece", text, old, new, all, got.Text)
	}
}

// original returns the start of a text that with LF line ends has n bytes.
func original(text string, n int) string {
	i := 0
	for ; n > 0; n-- {
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		i++
	}
	return text[:i]
}
