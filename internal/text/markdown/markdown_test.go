package markdown

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/millhand/millhand/internal/text/printable"
)

func TestRestricted(t *testing.T) {
	for in, want := range map[string]string{
		// what stays
		"plain *text*, **bold**, ~~old~~ and `code`": "plain *text*, **bold**, ~~old~~ and `code`",
		"a_b and __init__, _it_":                     "a_b and **init**, *it*",
		"- a\n- b\n  1. c\n  2. d\n\ntext":           "- a\n- b\n  1. c\n  2. d\n\ntext",
		"* a\n\n  more\n* b":                         "- a\n\n  more\n\n- b",
		"> quote\n> - item":                          "> quote\n>\n> - item",
		"a | b\n--|--\n`x \\| y` | z":                "| a | b |\n|---|---|\n| `x \\| y` | z |",
		"```go\nfunc f() {}\n\n\treturn\n```\nafter": "```go\nfunc f() {}\n\n\treturn\n```\n\nafter",
		"    indented":                               "indented",
		"a\n\n    indented\n    code":                "a\n\n```\nindented\ncode\n```",
		"a\n\n---\n\nb":                              "a\n\n***\n\nb",
		"one\ntwo  \nthree":                          "one\ntwo\\\nthree",
		"costs 2 - 1 = 1 > 0, 50 % (a: b)":           "costs 2 - 1 = 1 > 0, 50 % (a: b)",
		"```\nopen":                                  "```\nopen\n```",
		"```\n```` x\n```":                           "`````\n```` x\n`````",
		"- ```sh\n  ls\n  ```":                       "- ```sh\n  ls\n  ```",
		"`` a`b `` and ``` c``d ```":                 "``a`b`` and ```c``d```",
		// headings are demoted
		"# One\n## Two\n### Three\nfour\n====": "#### One\n\n##### Two\n\n###### Three\n\n#### four",
		// hyperlinks and images show their address as code
		"[here](https://x.example/y)":          "here (`https://x.example/y`)",
		"![a](http://t/p.png) <https://u>":     "image: a (`http://t/p.png`) `https://u`",
		"see https://x/y_z. (www.example.com)": "see `https://x/y_z`. (`www.example.com`)",
		"[a]: https://x\n[b][a] [c]":           "\\[a\\]: `https://x`\n\\[b\\]\\[a\\] \\[c\\]",
		"note[^1]\n\n[^1]: hidden":             "note\\[^1\\]\n\n\\[^1\\]: hidden",
		// HTML is text
		"<img src=x> <!-- c --> </details> a < b": "&lt;img src=x> &lt;!-- c --> &lt;/details> a &lt; b",
		"<details>\n\n**x**\n\n</details>":        "&lt;details>\n\n**x**\n\n&lt;/details>",
		"&#64;ada &lt;b&gt; a && b &":             "&amp;#|64;ada &amp;lt;b&amp;gt; a && b &amp;",
		// nobody is notified, nothing is closed
		"ask @ada and @acme/team, a@b.example":   "ask @|ada and @|acme/team, a@|b.example",
		"fixes #12, closes GH-3, ABC-45, !6, &7": "fixes #|12, closes GH-|3, ABC-|45, !|6, &amp;|7",
		"`fixes #1` https://h/a/b/issues/1":      "`fixes #|1` `https://h/a/b/issues/|1`",
		// no commands of forges and CIs
		"/merge\n  /approve\n> /close\na/b":        "\\/merge\n\\/approve\n\n> \\/close\n> a/b",
		"```\n/close\n/usr/bin/x\n```":             "```\n|/close\n/usr/bin/x\n```",
		"::error::x\n\n    ::set-output name=a::b": "\\::error::x\n\n```\n: :set-output name=a::b\n```",
		"\\::error::x":         "\\::error::x",
		"##[error]x ##vso[y]z": "\\##|\\[error\\]x ##|vso\\[y\\]z",
		"a\n--- b\n+++ c":      "a\n\\--- b\n\\+++ c",
		"section_start:1:a":    "section_start: 1:a",
		// no diagrams, formulas, suggestions, alerts and tasks
		"```mermaid\nclick a\n```\n$`x`$ $y$": "```\nclick a\n```\n\n&dollar;`x`&dollar; &dollar;y&dollar;",
		"```suggestion\nx\n```":               "```\nx\n```",
		"> [!CAUTION]\n> x":                   "> \\[!|CAUTION\\]\n> x",
		"- [x] done":                          "- \\[x\\] done",
		// hidden characters are visible
		"a\x1b[31mb\u202ec\r\nd\x07": "ab\\\\u{202e}c\nd␇",
		"`a\u2066b`":                 "`a\\u{2066}b`",
		// text that would be structure
		"1\\. a\n2\\) b\n\\# c\n\\> d\n\\- e\n\\*": "1\\. a\n2\\) b\n\\# c\n\\> d\n\\- e\n\\*",
		"\\~~~\n\\| a |\n\\=== x":                  "\\~\\~\\~\n\\| a \\|\n\\=== x",
		"fixes #[1](x) @*a*":                       "fixes #|1 (`x`) @*a*",
		"~~a ~b~ c~~":                              "~~a b c~~",
		"":                                         "",
	} {
		if got := strings.ReplaceAll(Restricted(in), printable.Pause, "|"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", in, got, want)
		}
		harmless(t, in)
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"a|b\nc @d":             `a\|b c @|d`,
		"use `x|y` *now*":       "use `x\\|y` *now*",
		"`a\\|b`":               "`a\\|\\|b`", // a pause between the backslashes
		"[a](https://x) # b":    "a (`https://x`) # b",
		"# heading":             `\# heading`,
		"```go x":               "\\`\\`\\`go x",
		"~~~ x":                 `\~\~\~ x`,
		"- item":                `\- item`,
		"openai/gpt-5-mini":     "openai/gpt-|5-mini",
		"build_and_test.yml:12": "build_and_test.yml:12",
		" ":                     "",
	} {
		if got := strings.ReplaceAll(Line(in), printable.Pause, "|"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestHyperlink(t *testing.T) {
	for address, want := range map[string]string{
		"https://h/a b)|<c>":   "[x](https://h/a%20b%29%7C%3Cc%3E)",
		"javascript:alert(1)":  "x",
		"https://user:pass@h/": "x",
		"":                     "x",
	} {
		if got := Hyperlink("x", address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestFitted(t *testing.T) {
	notice := func(n int) string { return fmt.Sprintf("(%d more)", n) }
	if got := Fitted(" short ", 100, notice); got != "short" {
		t.Errorf("got %q", got)
	}
	for _, in := range []string{strings.Repeat("<@a ", 5000), strings.Repeat("x", 5000), "```\n" + strings.Repeat("@b\n", 3000), strings.Repeat("<", 50_000)} {
		got := Fitted(in, 3000, notice)
		if len(got) > 3000 || len(got) < 1000 || !strings.HasSuffix(got, " more)") {
			t.Errorf("%d bytes: %.40q…%q", len(got), got, got[max(0, len(got)-40):])
		}
	}
}

// TestLongTextsNeedLimitedTimeAndSpace limits the time and the size of results of the worst texts.
func TestLongTextsNeedLimitedTimeAndSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, token := range []string{">", "> - ", "1. ", "[", "[a](", "*a ", "`", "<", "|-", "- a\n", "|\n"} {
		in := strings.Repeat(token, maxParsed/len(token))
		start := time.Now()
		if got := Restricted(in); len(got) > 20*maxParsed {
			t.Errorf("%q: %d bytes", token, len(got))
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q: %s", token, took)
		}
	}
	in := strings.Repeat("a|", 2000) + "\n" + strings.Repeat("-|", 2000) + "\n" + strings.Repeat("|\n", 3000)
	if got := Restricted(in); len(got) > 20*maxParsed {
		t.Errorf("a wide table: %d bytes", len(got))
	}
}

// harm is what forges act on, anywhere.
var harm = regexp.MustCompile(`[@#!]\w|(?i:\bGH-\d)|!\[|(?m:^\s*/\w+(?:\s|$))|##\pL*\[|section_(?:start|end):\d|(?m:^\s*::)`)

// hidden are characters that no text may have; pauses are the only exception.
var hidden = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x9f\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]`)

// forge parses as forges do.
var forge = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))

// allowed are the kinds of nodes that restricted Markdown may have.
var allowed = []ast.NodeKind{
	ast.KindDocument, ast.KindParagraph, ast.KindTextBlock, ast.KindHeading, ast.KindThematicBreak, ast.KindFencedCodeBlock, ast.KindBlockquote,
	ast.KindList, ast.KindListItem, ast.KindText, ast.KindString, ast.KindCodeSpan, ast.KindEmphasis,
	extensionast.KindTable, extensionast.KindTableHeader, extensionast.KindTableRow, extensionast.KindTableCell, extensionast.KindStrikethrough,
}

// harmless fails if the restricted form of a text has more than text and its structure.
func harmless(tb testing.TB, in string) {
	tb.Helper()
	got := Restricted(in)
	if !utf8.ValidString(got) || len(got) > 40*len(in)+100 {
		tb.Errorf("%q: %d bytes", in, len(got))
	}
	for _, of := range []*regexp.Regexp{harm, hidden} {
		if found := of.FindString(got); found != "" {
			tb.Errorf("%q: %q has %q", in, got, found)
		}
	}
	source := []byte(got)
	err := ast.Walk(forge.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if !slices.Contains(allowed, n.Kind()) {
			tb.Errorf("%q: %q has %s", in, got, n.Kind())
		}
		if h, ok := n.(*ast.Heading); ok && h.Level <= demoted {
			tb.Errorf("%q: %q has a heading of level %d", in, got, h.Level)
		}
		if c, ok := n.(*ast.FencedCodeBlock); ok && c.Language(source) != nil && language(string(c.Language(source))) == "" {
			tb.Errorf("%q: %q has the language %s", in, got, c.Language(source))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		tb.Error(err)
	}
}

func seeds() []string {
	return []string{
		"fixes #1 @ada <b> /merge\n/close ![x](y) &#64;a ```", "| a | b |\n|--|--|\n| `x\\\\|y` | <c> |", "> - 1. # a\n\n\t<div>\n", "~~a ~~~~b~~\n~~~x",
		"[a]: javascript:x\n[a] [^1]\n\n[^1]: b", "***a** b*\n***\n---\n===", "`a``b` www.x.y `` ` ``https://x", "a\n: b\n\n:-:|-\n", "<script>\n</script>\n<!-- a", "1. a\n   - b\n\n     c\n10) d",
	}
}

func FuzzRestricted(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		harmless(t, in)
		cell := "| a |\n|---|\n| " + Line(in) + " |\n"
		doc := forge.Parser().Parse(text.NewReader([]byte(cell)))
		if table := doc.FirstChild(); table == nil || table.Kind() != extensionast.KindTable || table.NextSibling() != nil || table.ChildCount() != 2 {
			t.Errorf("%q is not one cell: %q", in, cell)
		}
	})
}

// TestGitHubsParser compares the elements that cmark-gfm finds, where it is installed, with those that may be there.
func TestGitHubsParser(t *testing.T) {
	program, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("cmark-gfm is not installed")
	}
	var all bytes.Buffer
	for _, in := range seeds() {
		all.WriteString(Restricted(in) + "\n\n")
	}
	cmd := exec.CommandContext(t.Context(), program, "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist", "-e", "footnotes")
	cmd.Stdin = &all
	html, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range regexp.MustCompile(`<[a-zA-Z!?][^>]*>`).FindAllString(string(html), -1) {
		if !regexp.MustCompile(`^<(p|h[456]|hr /|pre|code|code class="language-[\w+]+"|blockquote|[uo]l|ol start="\d+"|li|em|strong|del|br /|table|thead|tbody|tr|th|td)>$`).MatchString(tag) {
			t.Errorf("%s in:\n%s", tag, html)
		}
	}
}
