package publish

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsOfModelsAreHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"plain *text* with `code` and [a text](https://x/y)": "plain *text* with `code` and [a text](https://x/y)",
		"# Heading\n- item":                       "# Heading\n- item",
		"ask @ada and @acme/team, a@b.example":    "ask @|ada and @|acme/team, a@|b.example",
		"fixes #12, closes GH-3, resolves ABC-45": "fixes #|12, closes GH-|3, resolves ABC-|45",
		"fixes https://github.com/a/b/issues/1":   "fixes https://github.com/a/b/issues/|1",
		"see !7 and ![x](http://t/p.png)":         "see !|7 and !|[x](http://t/p.png)",
		"<img src=x> <!-- c --> </details> a < b": "&lt;img src=x> &lt;!-- c --> &lt;/details> a < b",
		"&#64;ada &lt;b&gt; a && b":               "&amp;#|64;ada &amp;lt;b&amp;gt; a && b",
		"/merge\n  /approve\n> /close\na/b":       "\\/merge\n  \\/approve\n> \\/close\na/b",
		"```\nopen":                               "```\nopen\n```",
		"a\x1b[31mb\u202ec":                       "ab\ufffdc",
	} {
		if got := strings.ReplaceAll(harmless(text), pause, "|"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
	if got := cell("a|b\nc @d"); got != `a\|b c @`+pause+"d" {
		t.Errorf("cell %q", got)
	}
	if got := titleText("fix @ada\n" + strings.Repeat("x", 300)); strings.Contains(got, "@ada") || strings.Contains(got, "\n") || len(got) > maxTitle+3 {
		t.Errorf("title %q", got)
	}
}

func TestTextsNameTheReport(t *testing.T) {
	for address, want := range map[string]string{
		"":                                    "millhand run 7",
		"https://ci.example/o/r/runs/1":       "[millhand run 7](https://ci.example/o/r/runs/1)",
		"https://ci.example/a) @ada <b>?x=|y": "[millhand run 7](https://ci.example/a%29%20@ada%20%3Cb%3E?x=%7Cy)",
		"javascript:alert(1)":                 "millhand run 7",
		"https://user:secret@ci.example/":     "millhand run 7",
		"https://ci.example/a\nb":             "millhand run 7",
	} {
		f := Facts{Run: "7", Task: "fix", RunURL: address}
		if got := f.Body("${{ report }}"); got != want {
			t.Errorf("%q: got %s, want %s", address, got, want)
		}
		if got := f.Body(""); !strings.HasSuffix(got, "Task fix · "+want+"</sub>") {
			t.Errorf("%q: got %s", address, got)
		}
		if got := f.Title("by ${{ report }}"); got != "by millhand run 7" {
			t.Errorf("%q: got title %s", address, got)
		}
	}
}

// harm is what forges act on.
var harm = regexp.MustCompile(`[@#!]\w|(?i:\bGH-\d)|!\[|<[A-Za-z/!?]|(?m:^/)`)

func FuzzHarmless(f *testing.F) {
	f.Add("fixes #1 @ada <b> /merge\n/close ![x](y) &#64;a ```")
	f.Fuzz(func(t *testing.T, text string) {
		got := harmless(text)
		if !utf8.ValidString(got) || len(got) > 4*maxSummary {
			t.Fatalf("%d bytes", len(got))
		}
		if found := harm.FindString(got); found != "" {
			t.Fatalf("%q has %q", got, found)
		}
	})
}
