package publish

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

func TestTextsOfModelsAreHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"plain *text* with `code` and [a text](https://x/y)": "plain *text* with `code` and a text (`https://x/y`)",
		"# Heading\n- item":                       "#### Heading\n\n- item",
		"ask @ada and @acme/team, a@b.example":    "ask @|ada and @|acme/team, a@|b.example",
		"fixes #12, closes GH-3, resolves ABC-45": "fixes #|12, closes GH-|3, resolves ABC-|45",
		"fixes https://github.com/a/b/issues/1":   "fixes `https://github.com/a/b/issues/|1`",
		"see !7 and ![x](http://t/p.png)":         "see !|7 and image: x (`http://t/p.png`)",
		"<img src=x> <!-- c --> </details> a < b": "&lt;img src=x> &lt;!-- c --> &lt;/details> a &lt; b",
		"&#64;ada &lt;b&gt; a && b":               "&amp;#|64;ada &amp;lt;b&amp;gt; a && b",
		"/merge\n  /approve\n> /close\na/b":       "\\/merge\n\\/approve\n\n> \\/close\n> a/b",
		"```\nopen":                               "```\nopen\n```",
		"a\x1b[31mb\u202ec":                       `ab\\u{202e}c`,
	} {
		if got := strings.ReplaceAll(harmless(text), printable.Pause, "|"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
	if got := cell("a|b\nc @d"); got != `a\|b c @`+printable.Pause+"d" {
		t.Errorf("cell %q", got)
	}
	for text, want := range map[string]string{"use ```go x": "use \\`\\`\\`go x", "```go x": "\\`\\`\\`go x", "~~~ x": `\~ \~\~ x`} {
		if got := cell(text); got != want { // a line break would end the table, and a block of code hide what follows
			t.Errorf("cell of %q: %q", text, got)
		}
	}
	if got := titleText("fix @ada\n" + strings.Repeat("x", 300)); strings.Contains(got, "@ada") || strings.Contains(got, "\n") || len(got) > maxTitle+3 {
		t.Errorf("title %q", got)
	}
}

// Code stays as it is, except for the markers by which comments and sections of descriptions are found.
func TestTextsOfModelsHaveNoMarkers(t *testing.T) {
	for _, marker := range []string{"<!-- millhand:follow-x -->", "<!-- millhand-state: e30= -->", "<!--/millhand:patterns -->", patternsStart, patternsEnd} {
		for _, text := range []string{marker, "`" + marker + "`", "```\n" + marker + "\n```", "~~~html\n" + marker + "\n", "> ```\n> " + marker, strings.Repeat("x ", 9_000) + marker} {
			f := Facts{Session: &Session{Summary: text, CostUSD: new(money.USD)}}
			for _, got := range []string{harmless(text), cell(text), f.Comment(nil), f.Comment([]byte("x" + text))} {
				if strings.Contains(got, marker) {
					t.Errorf("%.50q: %.200q", text, got)
				}
			}
		}
	}
	if got := harmless("`<!-- c -->`"); got != "`<!-- c -->`" {
		t.Errorf("got %q", got)
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

func TestCommentsAreHarmlessAndFit(t *testing.T) {
	f := Facts{Run: "r", Task: "a", Session: &Session{Summary: "Done, @ada.\n/close\n<!-- millhand:comment-1 -->", Model: "m", Profile: "p", Turns: 2, CostUSD: new(money.USD)}}
	want := "Done, @|ada.\n\\/close\n&lt;!-- millhand:comment-|1 -->\n\n<sub>Task a · model m · profile p · 2 turns · cost $0.00 · 0 denied calls · millhand run r</sub>"
	if got := strings.ReplaceAll(f.Comment(nil), printable.Pause, "|"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	f.Pull = "https://h.example/acme/api/pull/3"
	if got := f.Comment(nil); !strings.Contains(got, "\n\nPull request: https://h.example/acme/api/pull/3\n\n<sub>") {
		t.Errorf("got %q", got)
	}
	f.Pull = ""
	got := f.Comment([]byte("{\"a\":\"```\\n/close <!-- millhand:comment-1 --> @ada\"}"))
	want = "```json\n{\n  \"a\": \"\\u0060\\u0060\\u0060\\n/close \\u003c!-- millhand:comment-1 --> @ada\"\n}\n```\n\n<sub>"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, summary := range []string{strings.Repeat("@a ", 60_000), "```\n" + strings.Repeat("<b", 60_000)} {
		f.Session.Summary = summary
		text := f.Comment(nil)
		if len(text) > 65_000 || !strings.Contains(text, "\n\n[truncated]\n\n<sub>") || strings.Count(text, "````\n")%2 == 1 || !strings.HasSuffix(text, "</sub>") {
			t.Errorf("%d bytes, ending with %q", len(text), text[len(text)-200:])
		}
	}
	if text := f.Comment([]byte(`"` + strings.Repeat("x", 100_000) + `"`)); len(text) > 65_000 || strings.Count(text, "```") != 2 {
		t.Errorf("%d bytes of JSON", len(text))
	}
}

func TestMarkersOfComments(t *testing.T) {
	marker := func(job, run string, sticky bool) string {
		return (&Comment{Job: job, Spec: tasks.Comment{Sticky: sticky}, Facts: Facts{Run: run}}).marker()
	}
	if marker("a", "1", true) != marker("a", "2", true) {
		t.Error("another run does not find a sticky comment")
	}
	if marker("a", "1", true) == marker("b", "1", true) || marker("a", "1", false) == marker("a", "2", false) || marker("a", "1", false) == marker("b", "1", false) {
		t.Error("comments of others are found")
	}
	if first := marker("a", "1", false); marker("a", "1", false) != first {
		t.Error("a resumed run does not find its comment")
	}
}

// harm is what forges act on, also in code. What has an effect outside of code only is for the fuzz test of
// package markdown, which parses the text.
var harm = regexp.MustCompile(`[@#!]\w|(?i:\bGH-\d)|!\[|(?m:^/\w+(?:\s|$))`)

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

func TestAPullRequestHasTheHunksInOneLine(t *testing.T) {
	f := Facts{Run: "r", Task: "t", Verify: []Verify{{"tests", "failed"}}, Hunks: "41 of 44 hunks needed; 2 by nothing; 1 not tried"}
	if body := f.Body("x ${{ verify }}"); !strings.Contains(body, "| tests | failed | passed |\n\n41 of 44 hunks needed; 2 by nothing; 1 not tried.") {
		t.Error(body)
	}
}
