package textcut

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{OneLine(" a\n\tb  c\u00a0d "), "a b c d"},
		{Head("abc", 3, "..."), "abc"},
		{Head("abcd", 3, "..."), "abc..."},
		{Head("aéb", 2, "..."), "a..."},
		{Head("é", 0, "..."), "..."},
		{Ends("abcdef", 4, 2, "-"), "abcdef"},
		{Ends("abcdefg", 4, 2, "-"), "abcd-fg"},
		{Ends("aébcdéf", 2, 2, "-"), "a-f"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func FuzzCuts(f *testing.F) {
	f.Add("aébcdéf", 2, 3)
	f.Fuzz(func(t *testing.T, s string, head, tail int) {
		if !utf8.ValidString(s) || head < 0 || tail < 0 || head > 1<<20 || tail > 1<<20 {
			return
		}
		cut := Ends(s, head, tail, "|")
		if !utf8.ValidString(cut) || len(cut) > head+tail+1 && cut != s || !strings.HasPrefix(s, strings.TrimSuffix(Head(s, head, "|"), "|")) && len(s) > head {
			t.Errorf("%q cut to %d and %d: %q, %q", s, head, tail, cut, Head(s, head, "|"))
		}
	})
}

func TestPathIsOneLine(t *testing.T) {
	for name, want := range map[string]string{
		"a b.txt": "a b.txt", `q"\`: `q"\`, "caf\u00e9": "caf\u00e9", "v\u00a01": "v\u00a01", "👩\u200d💻": "👩\u200d💻",
		"line\nfeed": `"line\nfeed"`, "\x1b[31m\"r\\": `"\u001b[31m\"r\\"`, "a\r\tb": `"a\r\tb"`, "x\u2028y": `"x\u2028y"`, "a\u202etxt": `"a\u202etxt"`, "caf\xe9": `"caf\xe9"`, "\ufffd\n": "\"\ufffd\\n\"",
	} {
		if got := Path(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestListCountsWhatItLeavesOut(t *testing.T) {
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a, b, c": {"a", "b", "c"}, "a, b, c and 2 more": {"a", "b", "c", "d", "e"}} {
		if got := List(list); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}
