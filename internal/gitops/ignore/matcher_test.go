package ignore

import (
	"strings"
	"testing"
)

// lineCases are ignore files with one path each. The oracle test gives the
// same table to git, and the fuzz tests start from it.
var lineCases = []struct {
	name, file, path string // a path with a slash at its end is a directory
	want             bool
}{
	{"a name matches at the root", "foo", "foo", true},
	{"a name matches at any depth", "foo", "a/b/foo", true},
	{"a name does not match part of a name", "foo", "foobar", false},
	{"matching is case-sensitive", "foo", "Foo", false},
	{"an empty line means nothing", "\n\n", "foo", false},
	{"a comment means nothing", "#foo", "#foo", false},
	{"an escaped hash is a name", `\#foo`, "#foo", true},
	{"a hash after a space is a name", " #foo", " #foo", true},
	{"a hash after ! is a name", "foo*\n!#foo", "#foo", false},
	{"an escaped exclamation mark is a name", `\!foo`, "!foo", true},
	{"an exclamation mark takes back", "*.log\n!keep.log", "keep.log", false},
	{"the last match decides", "!foo\nfoo", "foo", true},
	{"only the first exclamation mark counts", "*\n!!foo", "!foo", false},
	{"a lone exclamation mark means nothing", "!", "!", false},
	{"spaces at the end do not count", "foo   ", "foo", true},
	{"an escaped space at the end counts", `foo\ `, "foo ", true},
	{"spaces after an escaped one do not count", `foo\   `, "foo ", true},
	{"an escaped backslash does not escape a space", `foo\\ `, `foo\`, true},
	{"spaces inside count", "a b", "a b", true},
	{"a space before the pattern counts", " foo", "foo", false},
	{"a tab at the end counts", "foo\t", "foo", false},
	{"a tab at the end is part of the name", "foo\t", "foo\t", true},
	{"CRLF ends a line", "foo\r\nbar\r\n", "foo", true},
	{"CR before the end of the file counts as a line end", "foo\r", "foo", true},
	{"only one CR belongs to the line end", "foo\r\r\n", "foo", false},
	{"CR inside a line counts", "fo\ro\n", "fo\ro", true},
	{"spaces before CRLF do not count", "foo  \r\n", "foo", true},
	{"an empty CRLF line means nothing", "\r\n", "foo", false},
	{"a byte order mark does not count", "\ufefffoo\nbar", "foo", true},
	{"a byte order mark on the second line counts", "bar\n\ufefffoo", "foo", false},
	{"a NUL ends the pattern", "foo\x00bar\n", "foo", true},
	{"a slash at the start anchors", "/foo", "a/foo", false},
	{"a slash at the start matches at the root", "/foo", "foo", true},
	{"a slash in the middle anchors", "a/foo", "b/a/foo", false},
	{"a slash in the middle matches at the root", "a/foo", "a/foo", true},
	{"a slash at the end does not anchor", "foo/", "a/foo/", true},
	{"a slash at the end wants a directory", "foo/", "foo", false},
	{"two slashes at the end match nothing", "foo//", "foo/", false},
	{"two slashes at the start match nothing", "//foo", "foo", false},
	{"a lone slash matches nothing", "/", "foo/", false},
	{"a directory's rule may be anchored", "/foo/", "foo/", true},
	{"an escaped slash at the end matches nothing", `foo\/`, "foo/", false},
	{"* matches any name", "*", "a/b", true},
	{"* matches a hidden name", "*", ".foo", true},
	{"* does not cross a slash", "a/*", "a/b/c", false},
	{"* matches nothing at all", "foo*", "foo", true},
	{"*.ext matches at any depth", "*.o", "a/b/x.o", true},
	{"*.ext matches the bare extension", "*.o", ".o", true},
	{"a star between texts", "a*b", "axxb", true},
	{"the two texts around a star do not overlap", "aa*aa", "aaa", false},
	{"several stars", "a*b*c", "axbxbxc", true},
	{"several stars, no end", "a*b*c", "axbxbx", false},
	{"stars in a row are one", "a***b", "axb", true},
	{"? is one byte", "f?o", "foo", true},
	{"? is not nothing", "foo?", "foo", false},
	{"? is not a slash", "a?b", "a/b", false},
	{"? with a slash elsewhere is not a slash", "x/a?b", "x/a/b", false},
	{"two bytes of a letter are two", "?", "é", false},
	{"a star and an anchored path", "a/*.c", "a/x.c", true},
	{"*/ is one directory", "*/foo", "a/foo", true},
	{"*/ is not two directories", "*/foo", "a/b/foo", false},
	{"*/ is not none", "*/foo", "foo", false},
	{"**/ at the start is any depth", "**/foo", "a/b/foo", true},
	{"**/ at the start is also none", "**/foo", "foo", true},
	{"**/ with a path", "**/a/foo", "x/a/foo", true},
	{"**/ does not cut names", "**/foo", "a/xfoo", false},
	{"/** is everything below", "a/**", "a/b/c", true},
	{"/** is not the directory itself", "a/**", "a/", false},
	{"/**/ is no directory", "a/**/b", "a/b", true},
	{"/**/ is many directories", "a/**/b", "a/x/y/b", true},
	{"/**/ is not part of a name", "a/**/b", "a/xb", false},
	{"/**/ twice", "a/**/b/**/c", "a/b/x/b/y/c", true},
	{"/**/ and a star behind it", "a/**/x*y", "a/b/x/xzy", true},
	{"/**/ tries every directory", "a/**/b/c", "a/b/x/b/c", true},
	{"** alone matches everything", "**", "a/b", true},
	{"/** at the root", "/**", "a", true},
	{"**/ alone means directories", "**/", "a/", true},
	{"**/ alone does not mean files", "**/", "a", false},
	{"**/** needs a directory or not", "**/**", "a", true},
	{"a**b in a name is a star", "a**b", "axb", true},
	{"a**/b after an x is a star", "x/*a**/b", "x/za/y/b", false},
	{"three stars between slashes are two", "a/***/b", "a/x/y/b", true},
	{"** and an escaped slash needs a directory", `a/**\/b`, "a/b", false},
	{"** and an escaped slash takes directories", `a/**\/b`, "a/x/y/b", true},
	{"a class", "[ab]", "b", true},
	{"a range", "[a-c]x", "bx", true},
	{"a range the wrong way is empty", "[c-a]", "b", false},
	{"a class with !", "[!a]", "b", true},
	{"a class with ! without", "[!a]", "a", false},
	{"a class with ^", "[^a]", "b", true},
	{"a ] as the first member", "[]a]", "]", true},
	{"a ] as the first member after !", "[!]]", "]", false},
	{"a - at the end", "[a-]", "-", true},
	{"a - at the start", "[-a]", "-", true},
	{"a - after a range", "[a-c-e]", "d", false},
	{"a - after a range is itself", "[a-c-e]", "-", true},
	{"an escaped ] in a class", `[\]]`, "]", true},
	{"an escaped member starts a range", `[\a-c]`, "b", true},
	{"a range up to an escaped member", `[a-\c]`, "b", true},
	{"a class is not a slash", "x[/]y", "x/y", false},
	{"a negated class is not a slash", "x/a[!b]c", "x/a/c", false},
	{"a class without an end matches nothing", "[ab", "[ab", false},
	{"a class without an end does not match its letters", "[ab", "a", false},
	{"an escape without an end matches nothing", `[\`, `[\`, false},
	{"[[:digit:]]", "x[[:digit:]]", "x7", true},
	{"[[:digit:]] is not a letter", "x[[:digit:]]", "xa", false},
	{"[![:digit:]]", "x[![:digit:]]", "xa", true},
	{"[[:alpha:]_]", "[[:alpha:]_]", "_", true},
	{"[[:upper:]]", "[[:upper:]]", "A", true},
	{"a class of no such name matches nothing", "[[:foo:]]", "f", false},
	{"a class name without its end is a set", "[[:digit]", ":", true},
	{"a class name without any end matches nothing", "[[:digit:", "[", false},
	{"[:digit:] is a set of letters", "[:digit:]", "g", true},
	{"an escaped star is a star", `\*`, "*", true},
	{"an escaped star is nothing else", `\*`, "a", false},
	{"an escaped letter is itself", `f\oo`, "foo", true},
	{"an escape in the middle of a star pattern", `*\*x`, "a*x", true},
	{"a backslash at the end matches nothing", `foo\`, `foo\`, false},
	{"a backslash at the end does not match without", `foo\`, "foo", false},
	{"braces are letters", "{a,b}", "a", false},
	{"braces are themselves", "{a,b}", "{a,b}", true},
	{"bytes that are not UTF-8", "\xff?", "\xffa", true},
	{"a file can't be taken back from an ignored directory's name", "foo/\n!foo", "foo/", false},
	{"a directory's rule leaves a file alone", "foo\n!foo/", "foo", true},
}

func split(path string) (string, bool) {
	return strings.CutSuffix(path, "/")
}

func TestALineIgnoresWhatGitIgnores(t *testing.T) {
	for _, c := range lineCases {
		t.Run(c.name, func(t *testing.T) {
			m := New().Descend("", []byte(c.file))
			path, isDir := split(c.path)
			if got := m.Ignored(path, isDir); got != c.want {
				t.Errorf("%q ignores %q: %v, want %v", c.file, c.path, got, c.want)
			}
		})
	}
}

func TestANestedFileOverridesThoseAbove(t *testing.T) {
	root := New(Parse([]byte("*.tmp\n/only\n")), Parse([]byte("!keep.tmp\n"))).
		Descend(".", []byte("*.log\n/a/x\n"))
	a := root.Descend("a", []byte("!b.log\n/y\nd/e\n"))
	b := a.Descend("a/b", []byte("b.log\n"))
	for _, c := range []struct {
		name  string
		rules *Matcher
		path  string
		want  bool
	}{
		{"the outermost file counts everywhere", b, "a/b/x.tmp", true},
		{"a later outer file wins", b, "a/keep.tmp", false},
		{"the root's own file counts", root, "x.log", true},
		{"the root's file is anchored at the root", a, "a/x", true},
		{"outer rules are anchored at the root", a, "a/only", false},
		{"a deeper file takes back", a, "a/b.log", false},
		{"a deeper file takes back only its own", a, "a/c.log", true},
		{"the deepest file wins", b, "a/b/b.log", true},
		{"a nested file is anchored in its directory", a, "a/y", true},
		{"a nested file's anchor is not the root", a, "y", false},
		{"a nested file's path starts in its directory", a, "a/d/e", true},
		{"a path outside the directory is not its business", a, "d/e", false},
		{"a directory of a similar name is not its business", a, "ab/y", false},
		{"the root is never ignored", root.Descend("", []byte("*")), ".", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.rules.Ignored(c.path, false); got != c.want {
				t.Errorf("%q ignored: %v, want %v", c.path, got, c.want)
			}
		})
	}
}

func TestNoRulesIgnoreNothing(t *testing.T) {
	var m *Matcher
	if m.Ignored("a", false) || m.Descend("a", nil) != nil || New() != nil || New(nil) != nil {
		t.Error("a matcher without rules ignores something")
	}
	m = New(Parse([]byte("x")))
	if m.Descend("a", nil) != m || m.Descend("a", []byte("# nothing\n[\n")) != m {
		t.Error("a file without rules makes another matcher")
	}
}

func TestAGlobIsNotALine(t *testing.T) {
	for _, c := range []struct{ glob, path string }{
		{"!a", "!a"}, {"#a", "#a"}, {"a ", "a "}, {"a\r", "a\r"}, {"a\nb", "a\nb"}, {"x/*.go", "x/a.go"},
	} {
		rules, ok := Glob(c.glob)
		if !ok || !New(rules).Ignored(c.path, false) {
			t.Errorf("%q does not match %q", c.glob, c.path)
		}
	}
	for _, glob := range []string{"", "/", "[", `a\`, "[[:no:]]"} {
		if _, ok := Glob(glob); ok {
			t.Errorf("%q is taken for a pattern", glob)
		}
	}
}

func TestDescendDoesNotModifyTheMatcher(t *testing.T) {
	m := New(Parse([]byte("*.o")))
	m.Descend("a", []byte("!x.o"))
	if !m.Ignored("a/x.o", false) {
		t.Error("rules of a directory have changed those above it")
	}
}

// A matcher with exponential backtracking would not end before the test's
// time is over.
func TestManyStarsAreFast(t *testing.T) {
	for _, unit := range []string{"*a", "*?", "a*", "*[ab]", "**/a/", "*/", "a/**/"} {
		for _, text := range []string{strings.Repeat("a", 4000), strings.Repeat("a/", 2000) + "a"} {
			for _, anchor := range []string{"", "/"} {
				m := New(Parse([]byte(anchor + strings.Repeat(unit, 900) + "b")))
				if m.Ignored(text, false) {
					t.Errorf("%q... matches a text without b", unit)
				}
			}
		}
	}
}

func TestListShowsTree(t *testing.T) {
	root := New(Parse([]byte("*.log\n"))).Descend("", []byte("/a/b/built\n/top\nkeep\n")).Descend("a", []byte("!x.log\nb/c\n"))
	m := root.Within("a/b").Descend("", []byte("own\n!keep\n"))
	for path, want := range map[string]bool{
		"y.log": true, "x.log": false, "sub/y.log": true, "built": true, "sub/built": false, "top": false, "c": true, "sub/c": false,
		"own": true, "keep": false, "sub/keep": false, "other": false, "": false, ".": false,
	} {
		if got := m.Ignored(path, false); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if deeper := root.Within("a").Within("b"); !deeper.Ignored("built", true) || !deeper.Ignored("c", false) || deeper.Ignored("top", false) {
		t.Error("a directory of a directory has other rules")
	}
	if (*Matcher)(nil).Within("a") != nil || root.Within(".") != root {
		t.Error("rules are made of none")
	}
}
