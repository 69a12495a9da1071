package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/ignore"
)

// needRipgrep skips a test where there is no ripgrep, but not on a CI.
func needRipgrep(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("rg"); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		tb.Fatal("ripgrep is not installed")
	}
	tb.Skip("ripgrep is not installed")
}

// runRipgrep is a [Ripgrep].
func runRipgrep(ctx context.Context, dir string, args []string, out io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, "rg", args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, []string{"PATH=" + os.Getenv("PATH")}, out, out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// theTree has at least one file for everything that engines may differ in.
func theTree(t *testing.T) Scope {
	t.Helper()
	root := openTree(t, map[string]string{
		"a.go": "func Total() {}\nfunc total() {}\n\n// TODO\n", "b.ts": "const total = 1\n", "c.tsx": "total", "d/e/f.md": "Total\ntotal 12 3.4\n",
		".hidden/h.go": "total\n", ".github/x.yml": "total: 1\n", ".env": "total\n",
		".git/config": "total\n", "sub/.git/HEAD": "total\n", "sub/in.go": "total in another repository\n", "mod/.git": "total", "mod/m.go": "total m\n", ".millhand/x": "total\n",
		".gitignore": "# {odd}\n*.log\n/out/\n\nbuild/\r\n!keep.log\n[0-9.]*.num\nsp ace\nx*y\n**/z/**\n/only\n", "a.log": "total\n", "keep.log": "total kept\n", "out/o": "total\n", "d/out/o": "total d\n",
		"d/build/x": "total\n", "q.c": "total: braces are no braces to git\n", "1.num": "total\n", "x1.num": "total num\n", "sp ace": "total\n", "xanyy": "total\n", "zz/z/z": "total\n", "only": "total\n", "d/only": "total only\n",
		"d/.gitignore": "!*.log\n!out\n/deep\n", "d/again.log": "total again\n", "d/deep/x": "total\n", "d/e/deep/x": "total deep\n",
		".ignore": "i1\n", "i1": "total i1\n", ".ripgreprc": "--invert-match\n",
		"extra/t.go": "total\n", "odd [name]*?{a}.go": "total odd\n", "-e": "total dash\n", "--files": "total files\n", "line\nfeed": "total line feed\n", "né w": "total né\n",
		"bin1": "total\x00\n", "bin2": "total\n" + strings.Repeat("x\n", 300_000) + "\x00", "latin1": "caf\xe9 total\ncaf\xe9!\n\xfftotal\n", "crlf": "total\r\nfoo \r\n\r\nTotal bar\r\nmid\rdle\r\nlast\r", "crcr": "foo\r\r\n",
		"mark8": "\ufefftotal\n\ufefftotal\n", "mark8bad": "\ufefft\xff\ntotal", "le16": "\xff\xfet\x00o\x00t\x00a\x00l\x00\n\x00", "be16": "\xfe\xff\x00t\x00o\x00t\x00a\x00l\xd8\x3d\xde\x00\xd8\x00\x00\n\x00t", "le32": "\xff\xfe\x00\x00t\x00\x00\x00",
		"kelvin": "K\u212a\nto\u212aen\ntran\u017flate TRANSLATE\nÉTÉ été\nstraße STRASSE\n", "words": "a_b ab2 naïve été\ntab\there\n日本 total語\n\u00a0nbsp\n٣ digits\n", "empty": "", "newline": "\n", "ends": "no end",
		"long": strings.Repeat("total ", 50_000) + "\nshort total\n", "dots": "aéb\na日b\nab\na\xe9b\na\xe9\xe9b\n'aa' \"q\"\n[x] (y) {z} \\ ^ $ | . * + ?\n", "nul16": "\xff\xfet\x00\x00\x00",
	})
	for link, target := range map[string]string{"link.go": "a.go", "linkdir": "d", "away": "/etc", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(root.Name(), link)); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"d/e/f.md", "crlf", "a.go", "latin1", "long"} {
		setTime(t, filepath.Join(root.Name(), name), aTime.Add(time.Duration(i+1)*time.Minute))
	}
	return Scope{Root: root, Ignore: ignore.New(ignore.Parse([]byte("/extra/\n*.elsewhere\n"))), Visible: func(p string) bool { return p != ".env" }}
}

// engineCases are what every engine has to find. In short form: want has the
// paths and lines found, but not their text.
var engineCases = []struct {
	name string
	base string
	Query
	want string
}{
	{"a literal", "d", Query{Pattern: "total"}, "d/e/f.md:2 d/again.log:1 d/e/deep/x:1 d/only:1 d/out/o:1"},
	{"hidden files", ".", Query{Pattern: "^total", Include: ".*/**"}, ".github/x.yml:1 .hidden/h.go:1"},
	{"names with special letters", ".", Query{Pattern: "total (odd|dash|files|line feed|né)"}, "--files:1 -e:1 line\nfeed:1 né w:1 odd [name]*?{a}.go:1"},
	{"ignore files of git, to git's rules", ".", Query{Pattern: "^total (kept|d|num|again|deep|only)$|braces"}, "d/again.log:1 d/e/deep/x:1 d/only:1 d/out/o:1 keep.log:1 q.c:1 x1.num:1"},
	{"no other ignore files", ".", Query{Pattern: "total i1"}, "i1:1"},
	{"other repositories inside", ".", Query{Pattern: "total (in|m\\b)"}, "mod/m.go:1 sub/in.go:1"},
	{"an ignored folder as the base", "out", Query{Pattern: "total"}, "out/o:1"},
	{"a folder with rules above", "d/e", Query{Pattern: "total"}, "d/e/f.md:2 d/e/deep/x:1"},
	{"a file as the base", "d/e/f.md", Query{Pattern: "otal"}, "d/e/f.md:1 d/e/f.md:2"},
	{"an ignored file as the base", "a.log", Query{Pattern: "total"}, "a.log:1"},
	{"a file that is not visible", ".env", Query{Pattern: "total"}, ""},
	{"braces in include", ".", Query{Pattern: "total", Include: "*.{ts,tsx}"}, "b.ts:1 c.tsx:1"},
	{"a folder in include", ".", Query{Pattern: "otal", Include: "d/e/*"}, "d/e/f.md:1 d/e/f.md:2"},
	{"a negated include", "d", Query{Pattern: "total", Include: "!*.log"}, "d/e/f.md:2 d/e/deep/x:1 d/only:1 d/out/o:1"},
	{"an include that is a flag", ".", Query{Pattern: "total", Include: "--files"}, "--files:1"},
	{"an include with a class", ".", Query{Pattern: "total", Include: "[a-b].[[:alpha:]]s"}, "b.ts:1"},
	{"an include of any depth", ".", Query{Pattern: "total", Include: "**/*.go"}, "a.go:2 .hidden/h.go:1 mod/m.go:1 odd [name]*?{a}.go:1 sub/in.go:1"},
	{"the newest first, cut at the limit", ".", Query{Pattern: "otal", Limit: 7}, "long:1 long:2 latin1:1 latin1:3 a.go:1 a.go:2 crlf:1"},
	{"any case", "d", Query{Pattern: "(?i)^total$"}, "d/e/f.md:1"},
	{"any case beyond ASCII", ".", Query{Pattern: "(?i)^(token|kk|été été|translate translate|straße strasse)$"}, "kelvin:1 kelvin:2 kelvin:3 kelvin:4 kelvin:5"},
	{"binary files", ".", Query{Pattern: "total", Include: "bin*"}, ""},
	{"bytes that are not UTF-8", ".", Query{Pattern: "caf.!|^.total"}, "latin1:2 latin1:3 mark8:2"},
	{"a dot is a character, or a byte that is none", ".", Query{Pattern: "a.b$"}, "dots:1 dots:2 dots:4"},
	{"two dots", ".", Query{Pattern: "^a.{2}b$"}, "dots:5"},
	{"not a letter", ".", Query{Pattern: "^a[^é]b"}, "dots:2 dots:4 words:1"},
	{"CRLF", ".", Query{Pattern: "^total$", Include: "crlf"}, "crlf:1"},
	{"an empty line with CRLF", ".", Query{Pattern: "^$", Include: "cr*"}, "crlf:3"},
	{"no carriage return at the end", ".", Query{Pattern: `\r`, Include: "cr*"}, "crlf:5 crcr:1"},
	{"space before CRLF", ".", Query{Pattern: `o\s$`, Include: "cr*"}, "crlf:2 crcr:1"},
	{"anything before CRLF", ".", Query{Pattern: `^foo.`, Include: "cr*"}, "crlf:2 crcr:1"},
	{"a carriage return at the end of the file", ".", Query{Pattern: "^last$"}, "crlf:6"},
	{"classes are of ASCII", ".", Query{Pattern: `^\w+ \w+ na\W+ve|^\s*nbsp|^\d digits`}, "words:1"},
	{"word boundaries are of ASCII", ".", Query{Pattern: `\btotal\b`, Include: "words"}, "words:3"},
	{"not at a word boundary", ".", Query{Pattern: `a\Bb`, Include: "words"}, "words:1 words:2"},
	{"special letters", ".", Query{Pattern: `^\[x\] \(y\) \{z\} \\ \^ \$ \| \. \* \+ \?$|"q"`}, "dots:6 dots:7"},
	{"the marks of encodings", ".", Query{Pattern: "^total", Include: "{mark,le,be,nul}*"}, "be16:1 le16:1 mark8:1 mark8bad:2"},
	{"malformed UTF-16", ".", Query{Pattern: "^total😀\ufffd$|^\ufffd$", Include: "be16"}, "be16:1"},
	{"very long lines", ".", Query{Pattern: "(total ){100}$|t total$", Include: "long"}, "long:1 long:2"},
	{"empty files and lines", ".", Query{Pattern: "^$", Include: "{empty,newline,ends}"}, "newline:1"},
	{"an end of line that is not at the end", ".", Query{Pattern: `(end$|d$)\B|total$\b`, Include: "{ends,crlf}"}, "crlf:1"},
	{"a pattern that looks like a flag", ".", Query{Pattern: "--files"}, ""},
	{"a pattern that looks like a flag, found", ".", Query{Pattern: "-e|--pre=x|const"}, "b.ts:1"},
	{"nothing", ".", Query{Pattern: "nowhere to be found"}, ""},
}

// short tells what was found as engineCases do.
func short(r GrepResult) string {
	var found []string
	for _, m := range r.Matches {
		found = append(found, fmt.Sprintf("%s:%d", m.Path, m.Line))
	}
	return strings.Join(found, " ")
}

func TestBothEnginesFindTheSame(t *testing.T) {
	needRipgrep(t)
	scope := theTree(t)
	for _, tt := range engineCases {
		t.Run(tt.name, func(t *testing.T) {
			scope.Base = tt.base
			tt.fileTime = time.Hour // a busy machine finds the same
			want, err := Grep(t.Context(), scope, tt.Query)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, short(want)); d != "" {
				t.Errorf("built-in (-want +got):\n%s", d)
			}
			q := tt.Query
			q.Ripgrep = runRipgrep
			got, err := Grep(t.Context(), scope, q)
			if err != nil {
				t.Fatal(err)
			}
			oneFile := strings.Contains(tt.name, "as the base") && tt.base != "out" || tt.base == ".env"
			if beyond := strings.Contains(tt.Pattern, `$\b`); (got.Engine == EngineRipgrep) == (oneFile || beyond) {
				t.Errorf("engine %s, %s", got.Engine, got.Fallback)
			}
			got.Engine, got.Fallback = EngineBuiltIn, ""
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("ripgrep (-built-in +ripgrep):\n%s", d)
			}
		})
	}
}

// Whatever is wrong with an expression or a place is said in the same words.
func TestBothEnginesRefuseTheSame(t *testing.T) {
	scope := theTree(t)
	for _, tt := range []struct {
		base string
		Query
	}{
		{".", Query{Pattern: "("}},
		{".", Query{Pattern: "a(?=b)"}},
		{".", Query{Pattern: `(a)\1`}},
		{".", Query{Pattern: "a\\nb"}},
		{".", Query{Pattern: "x{1001}"}},
		{".", Query{Pattern: "\xff"}},
		{".", Query{Pattern: "x", Include: "["}},
		{".", Query{Pattern: "x", Include: "{a"}},
		{"nope", Query{Pattern: "x"}},
		{"..", Query{Pattern: "x"}},
		{"linkdir", Query{Pattern: "x"}},
		{".git", Query{Pattern: "x"}},
	} {
		scope.Base = tt.base
		_, want := Grep(t.Context(), scope, tt.Query)
		tt.Ripgrep = func(context.Context, string, []string, io.Writer) (int, error) {
			t.Errorf("%q: ripgrep was run", tt.Pattern)
			return 0, nil
		}
		_, err := Grep(t.Context(), scope, tt.Query)
		if want == nil || err == nil || err.Error() != want.Error() {
			t.Errorf("%q: got %v, want %v", tt.Pattern, err, want)
		}
	}
}

// The total beyond the limit comes from ripgrep where its expression is exact.
func TestTotalsBeyondTheLimit(t *testing.T) {
	needRipgrep(t)
	scope := Scope{Root: openRoot(t, growTree(t, 1000))}
	for _, pattern := range []string{"func", `func \w+Context\(`, `\bctx\s+context\.Context\b`, "(?i)deprecated", "^$", "[0-9]+\\.[0-9]+", ".", `e.*r`, `[^"]*"`, `\S+\s\S+$`} {
		for _, include := range []string{"", "*.{go,ts}", "pkg[1-3]/**", "!*.go"} {
			q := Query{Pattern: pattern, Include: include, Limit: 10}
			want, err := Grep(t.Context(), scope, q)
			if err != nil {
				t.Fatal(err)
			}
			q.Ripgrep = runRipgrep
			got, err := Grep(t.Context(), scope, q)
			if err != nil || got.Engine != EngineRipgrep {
				t.Fatalf("%s, %s: %v", got.Engine, got.Fallback, err)
			}
			got.Engine = want.Engine
			if d := cmp.Diff(want, got); d != "" || include == "" && !got.Truncated {
				t.Errorf("%s in %s (-built-in +ripgrep):\n%s", pattern, include, d)
			}
		}
	}
}

func TestWhatRipgrepIsGiven(t *testing.T) {
	scope := theTree(t)
	var dir string
	var given []string
	run := func(_ context.Context, in string, args []string, _ io.Writer) (int, error) {
		dir, given = in, args
		return 1, nil
	}
	if _, err := Grep(t.Context(), scope, Query{Pattern: "--pre=x", Include: "*.{go,ts}", Ripgrep: run}); err != nil {
		t.Fatal(err)
	}
	if dir != scope.Root.Name() {
		t.Errorf("in %s", dir)
	}
	text := strings.Join(given, "\n")
	for _, want := range []string{"--no-config\n", "--no-ignore-parent\n", "\n--regexp=[\\x{2D}", "\n--glob=*.go\n--glob=*.ts\n--glob=!.git\n--glob=!/.millhand\n--\n./"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	for _, arg := range given[:len(given)-2] {
		if !strings.HasPrefix(arg, "--") || strings.HasPrefix(arg, "--pre") {
			t.Errorf("%q", arg)
		}
	}
}

// Rules that ripgrep would read otherwise, so as to leave out more.
func TestOddIgnoreRulesAreForTheBuiltInEngine(t *testing.T) {
	needRipgrep(t)
	files := map[string]string{"a.c": "x", "b.h": "x", "1.num": "x", "sp": "x", "z/z": "x", "?": "x", "[": "x", "d/e/f": "x", "s[]": "x", "!b": "x", "u.swp": "x", "A.pyc": "x", "é.py": "x"}
	for rule, odd := range map[string]bool{
		"*.{c,h}": true, "[[:digit:]]*": true, "s*[]": true, "sp ": true, "z**": true, `\!b`: true, "d/./e": true, "d//e": true, "é*": true, "*.[!c]": true, "[+-9]*": true, "a\tb": true, "!!b": true, "/": true, "!": true, "*.py?": true,
		"*.c": false, "d/": false, "/d/e/": false, "d/**": false, "**/f": false, "d/**/f": false, "*.py[cod]": false, "!*.py": false, "# {": false, "": false, "*~": false, "a b": false, "$x#": false, "*.[a-z0-9]": false,
	} {
		files[".gitignore"] = rule + "\n"
		scope := Scope{Root: openTree(t, files)}
		want := grepLines(t, scope, Query{Pattern: "x"})
		r, err := Grep(t.Context(), scope, Query{Pattern: "x", Ripgrep: runRipgrep})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, asLines(r)); d != "" {
			t.Errorf("%q (-built-in +ripgrep):\n%s", rule, d)
		}
		if (r.Engine == EngineBuiltIn) != odd || odd != (r.Fallback == errRules.Error()) {
			t.Errorf("%q: engine %s, %s", rule, r.Engine, r.Fallback)
		}
	}
	ascii := map[string]string{".gitignore": "*.sw?\n/d/[ab]?\n", "a.swp": "x", "a": "x", "d/ac": "x"}
	if r, err := Grep(t.Context(), Scope{Root: openTree(t, ascii)}, Query{Pattern: "x", Ripgrep: runRipgrep}); err != nil || r.Engine != EngineRipgrep || short(r) != "a:1" {
		t.Errorf("a question mark and names of ASCII: %s, %s, %v", r.Engine, short(r), err)
	}
	root := openTree(t, map[string]string{"rules": "a", "a": "x"})
	if err := os.Symlink("rules", filepath.Join(root.Name(), ".gitignore")); err != nil {
		t.Fatal(err)
	}
	if r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: "x", Ripgrep: runRipgrep}); err != nil || r.Fallback != errRules.Error() || short(r) != "a:1" {
		t.Errorf("a link: %s, %s, %v", r.Fallback, short(r), err)
	}
	root = openTree(t, map[string]string{"d/.rgignore": "a", "d/a": "x"})
	if r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: "x", Ripgrep: runRipgrep}); err != nil || r.Fallback != errRules.Error() || short(r) != "d/a:1" {
		t.Errorf("ripgrep's own: %s, %s, %v", r.Fallback, short(r), err)
	}
}

func TestAnswersOfRipgrepThatAreNotUsed(t *testing.T) {
	scope := theTree(t)
	for _, tt := range []struct {
		printed string
		code    int
		err     error
		why     string
	}{
		{"./a.go\x001\n", 2, nil, "ripgrep ended with code 2"},
		{"", -1, nil, "ripgrep ended with code -1"},
		{"", 0, errors.New("no room"), "run ripgrep: no room"},
		{"./a.go:1\n", 0, nil, `ripgrep printed "./a.go:1\n"`},
		{"./a.go\x001", 0, nil, `ripgrep printed "./a.go\x001"`},
		{"./a.go\x00x\n", 0, nil, `ripgrep printed "./a.go\x00x\n"`},
		{strings.Repeat("x", maxCounts+1), 0, nil, "ripgrep printed too much"},
	} {
		run := func(_ context.Context, _ string, _ []string, out io.Writer) (int, error) {
			_, err := io.WriteString(out, tt.printed)
			return tt.code, errors.Join(err, tt.err)
		}
		r, err := Grep(t.Context(), scope, Query{Pattern: "Total", Include: "*.go", Ripgrep: run})
		if err != nil || short(r) != "a.go:1" || r.Engine != EngineBuiltIn || r.Fallback != tt.why {
			t.Errorf("%.50q: %s, %s, %q, %v", tt.printed, short(r), r.Engine, r.Fallback, err)
		}
	}
}

// What ripgrep says is not believed: only files of the walk are shown, and
// only the lines that are there.
func TestRipgrepCanNotShowWhatItShouldNot(t *testing.T) {
	scope := theTree(t)
	for _, limit := range []int{0, 1} {
		run := func(_ context.Context, _ string, _ []string, out io.Writer) (int, error) {
			for _, p := range []string{"./.env", "./.git/config", "./../x", "/etc/passwd", "./away/passwd", "./link.go", "./linkdir/e/f.md", "./out/o", "./b.ts", "a.go"} {
				fmt.Fprintf(out, "%s\x00%d\n", p, 1)
			}
			return 0, nil
		}
		r, err := Grep(t.Context(), scope, Query{Pattern: "total", Limit: limit, Ripgrep: run})
		if err != nil || r.Engine != EngineRipgrep || r.Total != 2 || !strings.HasPrefix("a.go:2 b.ts:1", short(r)) {
			t.Errorf("%s, %+v, %v", short(r), r, err)
		}
	}
}

func TestASearchWithRipgrepEndsWithTheContext(t *testing.T) {
	scope := theTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	run := func(ctx context.Context, _ string, _ []string, _ io.Writer) (int, error) {
		cancel()
		return 0, ctx.Err()
	}
	if _, err := Grep(ctx, scope, Query{Pattern: "total", Ripgrep: run}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

// A panic leaves no process behind, and comes up where it can be recovered from.
func TestAPanicEndsRipgrep(t *testing.T) {
	scope := theTree(t)
	scope.Visible = func(string) bool { panic("broken rule") }
	ended := false
	run := func(ctx context.Context, _ string, _ []string, _ io.Writer) (int, error) {
		<-ctx.Done()
		ended = true
		return 0, ctx.Err()
	}
	defer func() {
		if r := recover(); r == nil || !ended {
			t.Errorf("recovered %v, ripgrep ended: %v", r, ended)
		}
	}()
	_, err := Grep(t.Context(), scope, Query{Pattern: "x", Ripgrep: run})
	t.Errorf("Grep returned %v", err)
}

// Random expressions over the letters that matter: the engines agree.
func TestEnginesAgreeOnRandomExpressions(t *testing.T) {
	needRipgrep(t)
	rng := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"a", "b", "é", ".", `\s`, `\w`, `\W`, `\d`, "[^a]", "[^é]", "[a-é]", "(?i:k)", "(?i:É)", `\b`, `\B`, "^", "$", `\r`, "\ufffd", "日", " ", `\x{10ffff}`, "(?s:.)", `[\r-\x{d900}]`}
	pieces := []string{"a", "b", "é", "日", " ", "\r", "\xff", "\xe9", "k", "K", "\u212a", "É", "_", "1", "\xe6\x97", "\ufffd"}
	var text strings.Builder
	for range 300 {
		for range rng.IntN(6) {
			text.WriteString(pieces[rng.IntN(len(pieces))])
		}
		text.WriteString([]string{"\n", "\r\n"}[rng.IntN(2)])
	}
	scope := Scope{Root: openTree(t, map[string]string{"f": text.String(), "g": "b\r\n\r\na", "h": ""})}
	used := 0
	for range 250 {
		pattern := randomExpression(rng, atoms, 3)
		q := Query{Pattern: pattern, Limit: 1}
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
			t.Fatal(err)
		}
		want, err := Grep(t.Context(), scope, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Ripgrep = runRipgrep
		got, err := Grep(t.Context(), scope, q)
		if err != nil {
			t.Fatal(err)
		}
		if got.Engine == EngineRipgrep {
			used++
		} else if got.Fallback != errDialect.Error() {
			t.Errorf("%q: %s", pattern, got.Fallback)
		}
		got.Engine, got.Fallback = want.Engine, ""
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-built-in +ripgrep):\n%s", pattern, d)
		}
	}
	if used < 100 {
		t.Errorf("ripgrep was used only %d times", used)
	}
}

func TestLimitedBuffer(t *testing.T) {
	b := limitedBuffer{room: 3}
	for _, p := range []string{"ab", "c", "d", ""} {
		if n, err := b.Write([]byte(p)); n != len(p) || err != nil {
			t.Errorf("%q: %d, %v", p, n, err)
		}
	}
	if !b.over || !bytes.Equal(b.kept, []byte("abc")) {
		t.Errorf("%q, over %v", b.kept, b.over)
	}
}
