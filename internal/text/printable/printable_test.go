package printable

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ümläut, 漢字\n\tindented":  "plain text, ümläut, 漢字\n\tindented",
		"\x1b[31mred\x1b[0m":                  "red",
		"\x1b[38;5;1mred\x1b[K\x1b[2J":        "red\uFFFD[2J",
		":\x1b[0m:error::x":                   ": :error::x",
		"\x1b[\x1b[m31m":                      "\uFFFD[31m",
		"a\rb\bc":                             "a\uFFFDb\uFFFDc",
		"right\u202eto left":                  "right\uFFFDto left",
		"\u200bzero width":                    "\uFFFDzero width",
		"family \U0001F468\u200d\U0001F469":   "family \U0001F468\u200d\U0001F469",
		"line\u2028separator":                 "line\uFFFDseparator",
		"not UTF-8: \xff\xfe":                 "not UTF-8: \uFFFD",
		"::error::x":                          ": :error::x",
		"  ::add-mask::x":                     "  : :add-mask::x",
		"text ::error::x":                     "text ::error::x",
		"##[group]x":                          "## [group]x",
		"a ##vso[task.x]y":                    "a ##vso [task.x]y",
		"##\u200bVS\u0301O[x]":                "##\uFFFDVS\u0301O [x]",
		"x ##teamcity[y]":                     "x ##teamcity [y]",
		"# a ## b [c]":                        "# a ## b [c]",
		"section_start:17:a\r\x1b[0Kb":        "section_start: 17:a\uFFFDb",
		"x section_end:17:a":                  "x section_end: 17:a",
		"section_start:$(date +%s):a":         "section_start:$(date +%s):a",
		"--- a title\n+++ b\n~~~ c":           "- -- a title\n+ ++ b\n~ ~~ c",
		"^^^ +++\n^^^ a":                      "^ ^^ +++\n^ ^^ a",
		"--- a/x\n+++ b/x\n-- x":              "--- a/x\n+++ b/x\n-- x",
		"--- /dev/null\n+++ \"b/\u00fc\"":     "--- /dev/null\n+++ \"b/\u00fc\"",
		"--- FAIL: TestX (0.00s)\n--- FAILED": "--- FAIL: TestX (0.00s)\n- -- FAILED",
		"---\ntitle: x\n---":                  "---\ntitle: x\n---",
		"a --- b":                             "a --- b",
		"a\n::set-output name=x::y":           "a\n: :set-output name=x::y",
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

// forms are the commands of CIs, as their runners read them.
var forms = regexp.MustCompile(`##(\pL*)\[|section_(start|end):\d|^(---|\+\+\+|~~~|\^\^\^) [^\n"ab/FPSB]`)

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "x"}`:                        `{"a": "x"}`,
		"{\"a\": \"\u202e\U000e0041\x7f\"}": `{"a": "\u202e\udb40\udc41\u007f"}`,
		`["##[a] ## b ##vso[c]"]`:           `["#\u0023[a] ## b #\u0023vso[c]"]`,
	} {
		got := string(JSON([]byte(in)))
		if got != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
		}
		var before, after any
		if err := errors.Join(json.Unmarshal([]byte(in), &before), json.Unmarshal([]byte(got), &after)); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("JSON(%s) = %s, another value: %v", in, got, err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("::error::\x1b[2J##[x]")
	f.Add(":\u200b:warning::x")
	f.Add("#\u0301#[x")
	f.Add("---  ")
	f.Add("##vso[x]\n--- x\nsection_start:1:x")
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
			if strings.HasPrefix(strings.TrimSpace(line), "::") || forms.MatchString(line) {
				t.Errorf("Text(%q) = %q, which contains a workflow command", in, got)
			}
		}
	})
}
