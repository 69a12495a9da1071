package printable

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ümläut, 漢字\n\tindented": "plain text, ümläut, 漢字\n\tindented",
		"\x1b[31mred\x1b[0m":                 "red",
		"\x1b[38;5;1mred\x1b[K\x1b[2J":       "red\uFFFD[2J",
		":\x1b[0m:error::x":                  ": :error::x",
		"\x1b[\x1b[m31m":                     "\uFFFD[31m",
		"a\rb\bc":                            "a\uFFFDb\uFFFDc",
		"right\u202eto left":                 "right\uFFFDto left",
		"\u200bzero width":                   "\uFFFDzero width",
		"family \U0001F468\u200d\U0001F469":  "family \U0001F468\u200d\U0001F469",
		"line\u2028separator":                "line\uFFFDseparator",
		"not UTF-8: \xff\xfe":                "not UTF-8: \uFFFD",
		"::error::x":                         ": :error::x",
		"  ::add-mask::x":                    "  : :add-mask::x",
		"text ::error::x":                    "text ::error::x",
		"##[group]x":                         "## [group]x",
		"a\n::set-output name=x::y":          "a\n: :set-output name=x::y",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"two\n  lines\t.", 20, "two lines ."},
		{"exactly ten", 11, "exactly ten"},
		{"one too many", 11, "one too ma…"},
		{"漢字漢字", 3, "漢字…"},
		{"", 5, ""},
	} {
		if got := Line(c.in, c.n); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("::error::\x1b[2J##[x]")
	f.Add(":\u200b:warning::x")
	f.Add("#\u0301#[x")
	f.Fuzz(func(t *testing.T, in string) {
		got := Text(in)
		if !utf8.ValidString(got) {
			t.Errorf("Text(%q) = %q, which is not UTF-8", in, got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && unicode.IsControl(r) {
				t.Errorf("Text(%q) = %q, which contains the control character %U", in, got, r)
			}
		}
		for line := range strings.Lines(got) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("Text(%q) = %q, which contains a workflow command", in, got)
			}
		}
	})
}
