package search

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func TestNeededLiterals(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{ // literals; ~ if folded, ! if enough
		{"foo", "foo!"},
		{"(foo)", "foo!"},
		{"(?:foo)+", "foo!"},
		{"foo{2}", "fo"},
		{"(foo){2,}", "foo"},
		{"(foo){1,3}", "foo!"},
		{"(foo)?", ""},
		{"(foo)*", ""},
		{"(foo){0,2}", ""},
		{"foo.*barbaz", "barbaz"},
		{"foobar.*baz", "foobar"},
		{`func \w+Context\(`, "Context("},
		{`\bctx\s+context\.Context\b`, "context.Context"},
		{"^foo$", "foo"},
		{"foo|quux", "foo quux!"},
		{"foo|b.z", "foo b"},
		{"foo|.*", ""},
		{"foo|", ""},
		{"(fooo|quux)bar", "fooo quux"},
		{"(foo|quux)bar", "bar"},
		{"(a|b)longer", "longer"},
		{"[a-z]+", ""},
		{"[a]", "a!"},
		{`\d+`, ""},
		{"", ""},
		{"(?i)deprecated", "deprecated~!"},
		{"(?i)DePrecated", "deprecated~!"},
		{"(?i)token", "to~"},
		{"(?i)sk", ""},
		{"(?i)été", "t~"},
		{"(?i)a1-b", "a1-b~!"},
		{"(?i:foo)BAR2", "BAR2"},
		{"日本", "日本!"},
		{"a\ufffdb", ""},
		{`ab\r`, "ab\r"},
		{`(?i)ab\r`, "ab\r~"},
		{"a|b|c|d", ""}, // a class
		{strings.Repeat("xy.|", 40) + "xy.", "xy"},
		{"aa1|bb2|cc3|dd4|ee5|ff6|gg7|hh8|ii9|jja|kkb|llc|mmd|nne|oof|ppg|qqh|rri|ssj|ttk|uul|vvm|wwn|xxo|yyp|zzq|0ar|1bs|2ct|3du|4ev|5fw|6gx", ""},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			tree, err := syntax.Parse(c.pattern, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(needed(tree, false)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func describe(n needs) string {
	var parts []string
	for _, l := range n.any {
		s := string(l.text)
		if l.fold {
			s += "~"
		}
		parts = append(parts, s)
	}
	s := strings.Join(parts, " ")
	if n.enough {
		s += "!"
	}
	return s
}

func TestNeededLiteralsOfPlainTexts(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"(?i)token", "token~!"},
		{"(?i)sk", "sk~!"},
		{"(?i:Sessions)|é", "sessions~ é!"},
		{"(?i)été-KISS", "-kiss~"},
		{"(?i)kissé", "kiss~"},
		{"foo", "foo!"},
	} {
		tree, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(needed(tree, true)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.pattern, got, c.want)
		}
	}
}

func TestLowerASCIIOfEveryByte(t *testing.T) {
	var text []byte
	for first := range 256 {
		for second := range 256 {
			text = append(text, byte(first), byte(second))
		}
	}
	text = append(text, "\xc1Z\x80"...)
	got := lowerASCII(nil, text)
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if got[i] != c {
			t.Fatalf("byte %#x after %#x is converted to %#x", text[i], text[max(0, i-1)], got[i])
		}
	}
}
