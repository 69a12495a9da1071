package pathglob

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		glob string
		want []string
	}{
		{"a", []string{"a"}},
		{"a{b,c}d", []string{"abd", "acd"}},
		{"{a,b}{c,d}", []string{"ac", "ad", "bc", "bd"}},
		{"{a,b{c,d}}", []string{"a", "bc", "bd"}},
		{"{,a}", []string{"", "a"}},
		{"{a,}", []string{"a", ""}},
		{`[},{]{a,[,]}`, []string{"[},{]a", "[},{][,]"}},
		{`\{a,b\}`, []string{`\{a,b\}`}},
		{strings.Repeat("{a}", 1000), []string{strings.Repeat("a", 1000)}},
	} {
		got, err := Expand(c.glob)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.glob, d)
		}
	}
}

// hostile are patterns that would need all time or memory if their braces were expanded, or
// matched one after the other, without a limit.
func hostile() map[string]string {
	return map[string]string{
		"groups in a row":        strings.Repeat("{a,b}", 40),
		"empty alternatives":     "a" + strings.Repeat("{,}", 40) + "x",
		"groups with wildcards":  strings.Repeat("*{a,b}", 40),
		"groups of directories":  strings.Repeat("{**,*}/", 20) + "x",
		"groups in groups":       strings.Repeat("{a,", 19) + strings.Repeat("b}", 19) + strings.Repeat("{c,d}", 12),
		"one group":              "{" + strings.Repeat("a,", 20_000) + "}",
		"empty groups":           strings.Repeat("a", 40_000) + strings.Repeat("{}", 10_000),
		"groups of one":          strings.Repeat("a", 30_000) + strings.Repeat("{b}", 10_000),
		"a long text":            strings.Repeat("a", 1<<20),
		"a long list of letters": "[" + strings.Repeat("[:", 1<<19) + "]",
	}
}

func TestAHostilePatternIsRefused(t *testing.T) {
	for name, text := range hostile() {
		if _, err := Parse(text); !errors.Is(err, ErrTooMany) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := Expand(text); !errors.Is(err, ErrTooMany) {
			t.Errorf("%s: expanded, error %v", name, err)
		}
	}
	deep := strings.Repeat("{", 2000) + strings.Repeat("}", 2000)
	if _, err := Parse(deep); err == nil {
		t.Error("deep braces are expanded")
	}
	for _, text := range []string{"[", "{", "}", `\`, "{a", "a}", "[]", "[a"} {
		if _, err := Parse(text); err == nil || errors.Is(err, ErrTooMany) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// With exponential backtracking, the test would not end.
func TestMatchingIsNotExponential(t *testing.T) {
	names := []string{strings.Repeat("a", 4000), strings.Repeat("a/", 2000) + "a", strings.Repeat(strings.Repeat("a", 60)+"/", 60) + "a"}
	for _, unit := range []string{"*a", "*?", "a*", "*[ab]", "**/", "**/a/", "*/", "a/**/", "**/*a*/", "?", "?/"} {
		for _, end := range []string{"b", "/b", "{b,c}", "{*b,*/b,**/b}"} {
			p, err := Parse(strings.Repeat(unit, 900) + end)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if p.Match(name) || p.Covers(name) {
					t.Errorf("%s... matches a name without b", unit)
				}
			}
		}
	}
	p, err := Parse(strings.Repeat("*{a,b}", 9) + "x")
	if err != nil {
		t.Fatal(err)
	}
	if p.Match(names[0]) {
		t.Error("a name without x matches")
	}
}

func TestPatternsMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		match, covers bool
	}{
		{"docs/*.md", "docs/a.md", true, true},
		{"docs", "docs/a.md", false, true},
		{"{docs,src}/{a,b}.md", "src/b.md", true, true},
		{"{docs,src/**}", "src/x/b.md", true, true},
		{"{docs,lib}", "lib/x/y", false, true},
		{"**/x", "a/x/b", false, true},
		{"a/**", "a", true, true},
		{"**", "a/b", true, true},
		{"*", "a/b", false, true},
		{"{a/,b/}", "b/c", false, true},
		{"a*", "a", true, true},
		{"a**", "a", true, true},
		{"a*", "a/b", false, true},
		{"", "a", false, false},
		{"{,b}", "a", false, false},
		{"{,b}", "/a", false, false},
		{"a[{,]b", "a,b", true, true},
		{`a\{b`, "a{b", true, true},
		{"a", "ab", false, false},
	} {
		p, err := Parse(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(c.name); got != c.match {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
		if got := p.Covers(c.name); got != c.covers {
			t.Errorf("%q covers %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestBasesAreWhereAPatternStarts(t *testing.T) {
	for pattern, want := range map[string][]string{
		"*.md": {"."}, "docs/*.md": {"docs"}, "/etc/*": {"/etc"}, "/*": {"/"}, "{a/x*,/etc/y*}": {"a", "/etc"},
		"a/{b,../..}/*": {"a/b", ".."}, "*/../../x/*": {"../x"}, "{*,a}/../../etc/*": {"../etc", "../etc"}, "**/../../x": {".."},
	} {
		p, err := Parse(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, p.Bases()); d != "" {
			t.Errorf("%q (-want +got):\n%s", pattern, d)
		}
	}
}

// FuzzPattern: parsing and matching end, an expansion stays in its limits, and what a pattern
// matches is what its alternatives match, one by one, in each directory.
func FuzzPattern(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text[:min(len(text), 200)], "a/b")
	}
	for _, text := range []string{"{a,b}/*", "**/{x,y}/**", "[{,}]{a,}", `{a\,b,c}`, "[[:x:]]", "*a*/**/b?"} {
		f.Add(text, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 1000 || len(name) > 1000 || strings.Contains(text, "***") {
			return // matching is quadratic, and three stars don't match the empty end of a name
		}
		p, err := Parse(text)
		if err != nil {
			return
		}
		size, match, slash := 0, false, false
		alternatives := p.alternatives()
		for _, a := range alternatives {
			size += len(a)
			slash = slash || strings.HasSuffix(a, "/")
			match = match || doublestar.MatchUnvalidated(a, name)
		}
		if len(alternatives) > maxPatterns || size > maxBytes {
			t.Errorf("%q has %d alternatives of %d bytes", text, len(alternatives), size)
		}
		if got := p.Match(name); got != match {
			t.Errorf("%q matches %q: %v, its alternatives %v", text, name, got, match)
		}
		if clean := path.Clean(name); !slash && clean == name && name != "." && !path.IsAbs(name) && !strings.HasPrefix(name, "..") {
			covers := false
			for dir := name; dir != "."; dir = path.Dir(dir) {
				covers = covers || p.Match(dir)
			}
			if got := p.Covers(name); got != covers {
				t.Errorf("%q covers %q: %v, its directories %v", text, name, got, covers)
			}
		}
		p.Bases()
	})
}
