package search

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// needRipgrep skips a test without ripgrep, but not on a CI.
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

// theTree has at least one file for everything that search programs differ in.
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
	for symlink, target := range map[string]string{"link.go": "a.go", "linkdir": "d", "away": "/etc", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(root.Name(), symlink)); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"d/e/f.md", "crlf", "a.go", "latin1", "long"} {
		setTime(t, filepath.Join(root.Name(), name), aTime.Add(time.Duration(i+1)*time.Minute))
	}
	return Scope{Root: root, Ignore: Ignored{Rules: ignore.New(ignore.Parse([]byte("/extra/\n*.elsewhere\n")))}, Visible: func(p string) bool { return p != ".env" }}
}

// grepCases are what Grep finds, in short form: want has the paths and lines,
// but not their text.
var grepCases = []struct {
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
	{"an ignored directory as the base", "out", Query{Pattern: "total"}, "out/o:1"},
	{"a directory with rules above", "d/e", Query{Pattern: "total"}, "d/e/f.md:2 d/e/deep/x:1"},
	{"a file as the base", "d/e/f.md", Query{Pattern: "otal"}, "d/e/f.md:1 d/e/f.md:2"},
	{"an ignored file as the base", "a.log", Query{Pattern: "total"}, "a.log:1"},
	{"a file that is not visible", ".env", Query{Pattern: "total"}, ""},
	{"braces in include", ".", Query{Pattern: "total", Include: "*.{ts,tsx}"}, "b.ts:1 c.tsx:1"},
	{"a directory in include", ".", Query{Pattern: "otal", Include: "d/e/*"}, "d/e/f.md:1 d/e/f.md:2"},
	{"a negated include", "d", Query{Pattern: "total", Include: "!*.log"}, "d/e/f.md:2 d/e/deep/x:1 d/only:1 d/out/o:1"},
	{"an include that is a flag", ".", Query{Pattern: "total", Include: "--files"}, "--files:1"},
	{"an include with a class", ".", Query{Pattern: "total", Include: "[a-b].[[:alpha:]]s"}, "b.ts:1"},
	{"an include of any depth", ".", Query{Pattern: "total", Include: "**/*.go"}, "a.go:2 .hidden/h.go:1 mod/m.go:1 odd [name]*?{a}.go:1 sub/in.go:1"},
	{"the newest first, cut at the limit", ".", Query{Pattern: "otal", Limit: 7}, "long:1 long:2 latin1:1 latin1:3 a.go:1 a.go:2 crlf:1"},
	{"any case", "d", Query{Pattern: "(?i)^total$"}, "d/e/f.md:1"},
	{"any case beyond ASCII", ".", Query{Pattern: "(?i)^(token|kk|été été|translate translate|straße strasse)$"}, "kelvin:1 kelvin:2 kelvin:3 kelvin:4 kelvin:5"},
	{"binary files", ".", Query{Pattern: "total", Include: "bin*"}, ""},
	{"bytes that are not UTF-8", ".", Query{Pattern: "caf.!|^.total"}, "latin1:2 latin1:3 mark8:2"},
	{"a dot is a character or an invalid byte", ".", Query{Pattern: "a.b$"}, "dots:1 dots:2 dots:4"},
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

// short describes what was found as grepCases do.
func short(r GrepResult) string {
	var found []string
	for _, m := range r.Matches {
		found = append(found, fmt.Sprintf("%s:%d", m.Path, m.Line))
	}
	return strings.Join(found, " ")
}

func TestGrepFinds(t *testing.T) {
	scope := theTree(t)
	for _, tt := range grepCases {
		t.Run(tt.name, func(t *testing.T) {
			scope.Base = tt.base
			tt.fileTime = time.Hour // a busy machine finds the same
			r, err := Grep(t.Context(), scope, tt.Query)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, short(r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
