package edit

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReplaceAppliesOnlyTheDifferenceToAnInexactMatch(t *testing.T) {
	tests := []struct {
		name, text, old, new, want, differs string
	}{
		{
			"Python in a method",
			"class A:\n    def f(self):\n        if x:\n            return 1\n        return 0\n",
			"if x:\n    return 1\nreturn 0", "if x:\n    return 2\nreturn 3",
			"class A:\n    def f(self):\n        if x:\n            return 2\n        return 3\n", "indentation",
		},
		{
			"Python with a line more, and a deeper one",
			"class A:\n    def f(self):\n        if x:\n            return 1\n        return 0\n",
			"if x:\n    return 1\nreturn 0", "if x:\n    if y:\n        return 2\n\n    return 1\nreturn 0",
			"class A:\n    def f(self):\n        if x:\n            if y:\n                return 2\n\n            return 1\n        return 0\n", "indentation",
		},
		{
			"YAML", "services:\n  web:\n    image: a\n    ports:\n      - 1\n", "image: a\nports:\n  - 1", "image: b\nports:\n  - 1\n  - 2",
			"services:\n  web:\n    image: b\n    ports:\n      - 1\n      - 2\n", "indentation",
		},
		{
			"a Makefile with spaces", "all: x\n\tgo build\n\tgo vet\n", "all: x\n    go build\n    go vet", "all: x y\n    go build\n    go test\n    go vet",
			"all: x y\n\tgo build\n\tgo test\n\tgo vet\n", "indentation",
		},
		{
			"Go with spaces", "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n", "    if x {\n        return\n    }", "    if x {\n        for {\n            g()\n        }\n    }",
			"func f() {\n\tif x {\n\t\tfor {\n\t\t\tg()\n\t\t}\n\t}\n}\n", "indentation",
		},
		{
			"Go without its margin", "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n", "if x {\n  return\n}", "if x {\n  return\n} else {\n  for {\n    g()\n  }\n}",
			"func f() {\n\tif x {\n\t\treturn\n\t} else {\n\t\tfor {\n\t\t\tg()\n\t\t}\n\t}\n}\n", "indentation",
		},
		{
			"the first line without its indentation", "f() {\n\tif x\n\t\treturn 1\n\tfi\n}\n", "if x\n        return 1\n    fi", "if y\n        return 1\n        z\n    fi\n    w",
			"f() {\n\tif y\n\t\treturn 1\n\t\tz\n\tfi\n\tw\n}\n", "indentation",
		},
		{
			"the first line without it, and a space at the end", "    a(\n        b,  \n    )\n", "a(\n        b,\n    )", "a(\n        b,\n        c,\n            d,\n    )",
			"    a(\n        b,  \n        c,\n            d,\n    )\n", "indentation, trailing whitespace",
		},
		{
			"two spaces for four", "if a:\n    if b:\n        c\n", "if a:\n  if b:\n    c", "if a:\n  if b:\n    c\n    if d:\n      e",
			"if a:\n    if b:\n        c\n        if d:\n            e\n", "indentation",
		},
		{
			"tabs for spaces", "a {\n  b {\n    c\n  }\n}\n", "\tb {\n\t\tc\n\t}", "\tb {\n\t\tc {\n\t\t\td\n\t\t}\n\t}",
			"a {\n  b {\n    c {\n      d\n    }\n  }\n}\n", "indentation",
		},
		{"tabs for a single line of spaces", "a {\n  b\n}\n", "\tb ", "\tb {\n\t\tc\n\t}", "a {\n  b {\n    c\n  }\n}\n", "indentation, trailing whitespace"},
		{"tabs with aligned spaces", "\t/*\n\t * a\n\t */\n", "    /*\n     * a\n     */", "    /*\n     * a\n     * b\n     */", "\t/*\n\t * a\n\t * b\n\t */\n", "indentation"},
		{"no newline at the end", "a\nb", "a\nb\n", "a\nc\n", "a\nc", "final newline"},
		{"a line more without one", "  a\n  b", "a\nb\n", "a\nb\nc\n", "  a\n  b\n  c", "indentation, final newline"},
		{"spaces at the ends of unchanged lines", "  a  \n  b\t\n  c \n", "a\nb\nc", "a\nB\nc", "  a  \n  B\n  c \n", "indentation, trailing whitespace"},
		{"whitespace within a unchanged line and a changed one", "f(a,  b)\ng(a,  b)\n", "f(a, b)\ng(a, b)", "f(a, b)\ng(a, c)", "f(a,  b)\ng(a,  c)\n", "whitespace"},
		{"a non-breaking space", "a\u00a0b\nc\n", "a b\nc", "a b\nd", "a\u00a0b\nd\n", "non-breaking spaces"},
		{"line breaks elsewhere", "f(a,\n  b)\n", "f(a, b\n)", "f(a, c\n)", "", ""},
		{"a break elsewhere that stays", "aa\nb  cc\n", "aa b\ncc", "aa b\ndd", "aa\nb  dd\n", "line breaks"},
		{"a lone CR", "x=1\ry=2\rz=3\n", "x=1\ny=2", "x=1\ny=9", "x=1\ry=9\rz=3\n", "line breaks"},
		{"mixed line endings", " a\r\n b\n c\r\n d\n", "a\nb\nc\nd", "a\nb\nC\nnew\nd", " a\r\n b\n C\r\n new\r\n d\n", "indentation"},
		{"a line that oldString does not have stays", "s\naaaa\nbbbb\ne\n", "s\naaaa\ne", "s\nAAAA\ne", "s\nAAAA\nbbbb\ne\n", "lines"},
		{"a misremembered line stays", "s\nbar(2)\nbaz(1)\ne\n", "s\nbar(3)\nbaz(1)\ne", "s\nbar(3)\nbaz(2)\ne", "s\nbar(2)\nbaz(2)\ne\n", "text"},
		{"an escape that stays", "say(\"a\nb\")", `say("a\nb")`, `say("a\nc")`, "say(\"a\nc\")", "escapes"},
		{"an escape of the file stays", "x\nit\\'s a\n", "it's a", "it's b", "x\nit\\'s b\n", "escapes"},
		{"whitespace around the text is not added", "f(k\n v)", " k\n v ", " k\n w ", "f(k\n w)", "surrounding whitespace"},
		{"the indentation of the new text is the file's already", "    a  \n    b\n", "a\nb", "a\n    B", "    a  \n    B\n", "indentation, trailing whitespace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replace(tt.text, tt.old, tt.new, false)
			if tt.want == "" {
				if err == nil {
					t.Errorf("got %q", got.Text)
				}
				return
			}
			if err != nil || got.Text != tt.want || got.Differs != tt.differs {
				t.Errorf("got  %q, %q, %v\nwant %q, %q", got.Text, got.Differs, err, tt.want, tt.differs)
			}
		})
	}
}

func TestReplaceRefusesAnInexactMatchThatItWouldHaveToGuess(t *testing.T) {
	tests := []struct{ name, text, old, new, message string }{
		{"a level that is not in the match", "\t\ta\n", "a ", "a\n        b\n     c", `copy the indentation exactly`},
		{"left of the margin", "x\n  a\n   b\n", "    a\n     b", "Q", `the file has "  " where the old text has "    "`},
		{"an odd number of spaces for tabs", "\ta\n\t\tb\n", "    a\n        b", "    a\n      c", `it is indented with "      "`},
		{"a mixture", "  \ta\n\t  b\n", "    a\n    b", "    a\n        b", "its indentation can't be derived"},
		{"a new escape", "say(\"a\nb\")", `say("a\nb")`, `say("a\nb\n")`, "other escapes"},
		{"new text that the file would escape", "x\nit\\'s a\n", "it's a", `it's "a"`, "other escapes"},
		{"lines that oldString does not show", "s\naaaa\nbbbb\ne\n", "s\naaaa\ne", "Q", `the file also has the line "bbbb" there`},
		{"a line that is quite another", "s\none\n!!!!!!\ne\n", "s\none\n??????????\ne", "Q", `the file has the line "!!!!!!" instead of "??????????"`},
		{"another break", "aa\nb cc\n", "aa b\ncc", "aa b\ncc\ndd", "line breaks at other positions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replace(tt.text, tt.old, tt.new, false)
			if err == nil || got != (Result{}) || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %+v, %v; want %q", got, err, tt.message)
			}
		})
	}
	if _, err := Replace("\t\ta\n", "a ", "a\n     b", false); !errors.Is(err, ErrInexact) {
		t.Error(err)
	}
}

// TestReplaceKeepsLinesThatDoNotChange makes random texts, a block of each that is
// copied with other whitespace, and changes one line of that.
func TestReplaceKeepsLinesThatDoNotChange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range 5000 {
		var lines, bodies []string
		shift := strings.Repeat(" ", r.IntN(9))
		n := 3 + r.IntN(6)
		for i := range n {
			bodies = append(bodies, strings.Repeat("    ", r.IntN(3))+"w"+string(rune('a'+i))+pick(" = f(x)", "()", ""))
			lines = append(lines, shift+bodies[i]+pick("", "  ", "\t")+pick("\n", "\r\n"))
		}
		from := r.IntN(n)
		to := from + 1 + r.IntN(n-from)
		old, new := strings.Join(bodies[from:to], "\n"), append([]string{}, bodies[from:to]...)
		k := r.IntN(len(new))
		trimmed := strings.TrimLeft(new[k], " ")
		new[k] = new[k][:len(new[k])-len(trimmed)] + "zz(1)"
		text := strings.Join(lines, "")
		got, err := Replace(text, old, strings.Join(new, "\n"), false)
		if err != nil {
			t.Fatalf("%q, %q: %v", text, old, err)
		}
		after := strings.SplitAfter(got.Text, "\n")
		for i, line := range lines {
			if i == from+k {
				line = shift + new[k]
				if strings.TrimRight(after[i], " \t\r\n") != line {
					t.Fatalf("%q, %q: line %d is %q, want %q", text, old, i, after[i], line)
				}
			} else if after[i] != line {
				t.Fatalf("%q, %q: line %d is %q, want %q", text, old, i, after[i], line)
			}
		}
	}
}
