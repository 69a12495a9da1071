package gitdir

import (
	"strings"
	"testing"
)

func TestQuotePath(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.txt": "a/b.txt", "sp ace": "sp ace", "a'b": "a'b",
		"tab\t": `"tab\t"`, "\a\b\n\v\f\r": `"\a\b\n\v\f\r"`, `q"b\`: `"q\"b\\"`,
		"\x01\x1b\x7f": `"\001\033\177"`, "caf\xe9": `"caf\351"`, "ü": `"\303\274"`,
	} {
		if got := QuotePath(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
	for _, text := range []string{"", "a", `"`, `"a`, `"\`, `"\x"`, `"\4000"`, `"\18"`, `"\12`} {
		if path, n := unquotePath(text); n != 0 {
			t.Errorf("%s: got %q, %d", text, path, n)
		}
	}
}

func FuzzQuotePathRoundTrip(f *testing.F) {
	for _, seed := range []string{"", "a/b", "tab\there", "\x00\xff\"\\", "caf\xe9 ", "a\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		quoted := QuotePath(path)
		if quoted == path {
			if strings.ContainsAny(path, "\n\t\"\\\x00") {
				t.Errorf("%q is not quoted", path)
			}
			return
		}
		if got, n := unquotePath(quoted + "rest"); got != path || n != len(quoted) {
			t.Errorf("%q became %s and %q", path, quoted, got)
		}
	})
}

func FuzzUnquotePathBounds(f *testing.F) {
	f.Add(`"a\303\274"`)
	f.Add(`"\`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, n := unquotePath(text); n > len(text) || n > 0 && text[n-1] != '"' {
			t.Errorf("%q: took %d", text, n)
		}
	})
}
