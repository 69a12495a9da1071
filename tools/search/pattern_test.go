package search

import (
	"strings"
	"testing"
)

var globCases = []struct {
	glob string
	yes  []string
	no   []string
}{
	{"*.go", []string{"a.go", "x/y/a.go", ".go", ".hidden/a.go"}, []string{"a.gox", "go"}},
	{"main.go", []string{"main.go", "cmd/main.go"}, []string{"xmain.go"}},
	{"**/*.go", []string{"a.go", "x/y/a.go"}, []string{"a.ts"}},
	{"**", []string{"a", "x/y"}, nil},
	{"*", []string{"a", "x/y", ".a"}, nil},
	{"src/*.go", []string{"src/a.go"}, []string{"a.go", "src/x/a.go", "x/src/a.go"}},
	{"src/**", []string{"src/a", "src/x/a"}, []string{"src", "x/src/a"}},
	{"src/**/*.ts", []string{"src/a.ts", "src/x/y/a.ts"}, []string{"a.ts", "srcx/a.ts"}},
	{"**/src/*.ts", []string{"src/a.ts", "x/src/a.ts"}, []string{"src/x/a.ts"}},
	{"src/", []string{"src/a", "src/x/a"}, []string{"src", "x/src/a"}},
	{"./*.go", []string{"a.go"}, []string{"x/a.go"}},
	{"/*.go", []string{"a.go"}, []string{"x/a.go"}},
	{"./src/a.go", []string{"src/a.go"}, []string{"x/src/a.go"}},
	{"/src/", []string{"src/a"}, []string{"x/src/a"}},
	{"*.{ts,tsx}", []string{"a.ts", "x/a.tsx"}, []string{"a.js", "a.t", "a.ts,tsx"}},
	{"src/**/*.{ts,tsx}", []string{"src/a.ts", "src/b/a.tsx"}, []string{"a.ts"}},
	{"{a,b}/{c,d}.go", []string{"a/c.go", "b/d.go"}, []string{"a.go", "x/a/c.go"}},
	{"{a,b/c}", []string{"a", "b/c"}, []string{"x/a"}},
	{"x{,y{1,2}}z", []string{"xz", "xy1z", "xy2z"}, []string{"xyz"}},
	{"{a}", []string{"a"}, []string{"{a}"}},
	{`\{a\,b\}`, []string{"{a,b}"}, []string{"a"}},
	{"[{,}]", []string{"{", ",", "}"}, []string{"a"}},
	{`a\,b`, []string{"a,b"}, []string{"a"}},
	{`{a\,b,c}`, []string{"a,b", "c"}, []string{"a"}},
	{"file[0-9].txt", []string{"file1.txt"}, []string{"filex.txt", "file10.txt"}},
	{"[!a]b", []string{"cb"}, []string{"ab"}},
	{"[^a]b", []string{"cb"}, []string{"ab"}},
	{"[]]", []string{"]"}, nil},
	{"[[:digit:]]", []string{"1"}, []string{"a", "d"}},
	{"?.go", []string{"a.go"}, []string{"ab.go", ".go"}},
	{"a/?/b", []string{"a/x/b"}, []string{"a//b", "a/xy/b"}},
	{"a**b", []string{"axb"}, []string{"x/a/b"}},
	{"!*.go", []string{"a.ts"}, []string{"a.go", "x/a.go"}},
	{"!src/", []string{"a", "x/src/a"}, []string{"src/a"}},
	{`\!a`, []string{"!a"}, []string{"a", "b"}},
	{"#a", []string{"#a"}, nil},
	{"a ", []string{"a "}, []string{"a"}},
	{"é*", []string{"été"}, []string{"e"}},
	{"*.GO", []string{"a.GO"}, []string{"a.go"}},
}

func TestGlobs(t *testing.T) {
	for _, c := range globCases {
		t.Run(c.glob, func(t *testing.T) {
			f, err := parseFilter(c.glob)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range c.yes {
				if !f.matches(p) {
					t.Errorf("%q does not match %q", c.glob, p)
				}
			}
			for _, p := range c.no {
				if f.matches(p) {
					t.Errorf("%q matches %q", c.glob, p)
				}
			}
		})
	}
}

func TestGlobsAreSeparatedByCommas(t *testing.T) {
	for _, c := range []struct {
		globs   string
		yes, no []string
	}{
		{"*.py,*.js", []string{"a.py", "d/a.js"}, []string{"a.go", "py"}},
		{" *.py , *.js ,", []string{"a.py", "d/a.js"}, []string{"a.go", "a.js "}},
		{"*.{ts,tsx},docs/**,Makefile", []string{"a.ts", "d/a.tsx", "docs/x", "d/Makefile"}, []string{"d/docs/x", "a.js"}},
		{"*.js,!*.min.js", []string{"a.js"}, []string{"a.min.js", "a.go"}},
		{"!*.min.js,!dist/,", []string{"a.js", "d/dist/x"}, []string{"a.min.js", "dist/x"}},
		{"!*.log,keep.log", []string{"keep.log"}, []string{"a.log", "a.go"}}, // as ripgrep's --glob
		{`a\,b,[,]c`, []string{"a,b", ",c"}, []string{"a", "b", "c"}},
		{"**/*.py,src/*.{js,{c,h}}", []string{"a/b.py", "src/a.h"}, []string{"x/src/a.h"}},
	} {
		f, err := parseFilter(c.globs)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.yes {
			if !f.matches(p) {
				t.Errorf("%q does not match %q", c.globs, p)
			}
		}
		for _, p := range c.no {
			if f.matches(p) {
				t.Errorf("%q matches %q", c.globs, p)
			}
		}
	}
}

func TestMalformedGlobs(t *testing.T) {
	for _, c := range []struct{ name, glob, want string }{
		{"empty", "", "empty pattern"},
		{"only a slash", "/", "empty pattern"},
		{"only a dot and a slash", "./", "empty pattern"},
		{"only a comma", " , ", "empty pattern"},
		{"only an exclamation mark", "!", "empty pattern"},
		{"nothing in braces", "{}", "empty pattern"},
		{"class without an end", "src/[ab", "unclosed [ at byte 5"},
		{"class without an end after !", "[!]", "unclosed [ at byte 1"},
		{"braces without an end", "*.{ts,tsx", "unclosed { at byte 3"},
		{"inner braces without an end", "{a,{b}", "unclosed { at byte 1"},
		{"end of braces without a start", "a}b", "unmatched } at byte 2"},
		{"escape of nothing", `a\`, `trailing \`},
		{"escape of the slash at the end", `{a\/,b/c}`, `can't match anything`},
		{"unknown class", "[[:nope:]]", "can't match anything"},
		{"too many alternatives", strings.Repeat("{a,b}", 10), "too many patterns"},
		{"too many alternatives in one group", "{" + strings.Repeat("{a,b,c,d,e,f,g,h}{a,b,c,d,e,f,g,h},", 20) + "}", "too many patterns"},
		{"too long alternatives", "{" + strings.Repeat("a,", 500) + "}" + strings.Repeat("b", 1000), "too many patterns"},
		{"too deep braces", strings.Repeat("{", 100) + strings.Repeat("}", 100), "braces nested too deeply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseFilter(c.glob)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "invalid glob") {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}
