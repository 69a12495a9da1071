// Package markdown has what millhand does with the Markdown of models: the extensions of its parser, and the
// restricted form of it in summaries, pull requests and comments. It makes no HTML: package report/html does, with
// the same extensions.
package markdown

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
)

// maxParsed is the length of a text up to which it is parsed: the time may grow with its square.
const maxParsed = 16 << 10

// nested matches the start of a line with more marks of quotes and lists than anybody writes, for which the parser would
// take seconds.
var nested = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^((?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){32})`)
})

// parsers are created once, since they are expensive: of texts and of single lines. They know
// neither HTML nor definitions of references, which are text.
var (
	blockParser = sync.OnceValue(func() parser.Parser {
		return parser.NewParser(append(Extensions(),
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			), inlineParsers())...)
	})
	lineParser = sync.OnceValue(func() parser.Parser {
		return parser.NewParser(
			parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
			parser.WithInlineParsers(util.Prioritized(extension.NewStrikethroughParser(), 500)), inlineParsers())
	})
)

func inlineParsers() parser.Option {
	return parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewEmphasisParser(), 500),
	)
}

// Restricted returns a model's text as Markdown that is safe on a forge and in the log of a CI. Lists,
// quotes, tables, emphasis and code stay, and headings are of level 4 and below. Everything else is text: HTML,
// and hyperlinks and images, which show their address as code. Nothing mentions anybody, refers
// to or closes an issue, is a command of a forge or CI, or changes the direction of other text.
// The text is a block of code if it is longer than 16 KiB.
func Restricted(s string) string {
	s = strings.TrimSpace(printable.Visible(s))
	if len(s) > maxParsed {
		return strings.Join(fenced("", s), "\n")
	}
	r := restricted{source: []byte(nested().ReplaceAllString(s, "$1\\"))}
	return printable.Disarm(strings.Join(r.blocks(blockParser().Parse(text.NewReader(r.source)), false, 0), "\n"))
}

// Fitted is [Restricted] of as much of the text's start as results in at most limit bytes, with a
// paragraph that the notice returns for the number of omitted bytes.
func Fitted(s string, limit int, notice func(omitted int) string) string {
	s = strings.TrimSpace(s)
	for n := min(len(s), limit); ; n = n * 2 / 3 {
		out := Restricted(textcut.Head(s, n, ""))
		if n < len(s) {
			out = strings.TrimPrefix(out+"\n\n"+notice(len(s)-n), "\n\n")
		}
		if len(out) <= limit || n == 0 {
			return out
		}
	}
}

// Line is [Restricted] for one line, which may be in a cell of a table. Line breaks become spaces.
func Line(s string) string {
	s = strings.Join(strings.Fields(printable.Visible(s)), " ")
	if len(s) > maxParsed {
		s = textcut.Head(s, maxParsed, "…")
	}
	r := restricted{source: []byte(s)}
	tree := lineParser().Parse(text.NewReader(r.source))
	if tree.FirstChild() == nil {
		return ""
	}
	return printable.Disarm(r.inline(tree.FirstChild(), true))
}

// Hyperlink returns a hyperlink with a label, which is Markdown, or only the label if the address is not one of
// the web.
func Hyperlink(label, address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return label
	}
	return "[" + label + "](" + strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C").Replace(u.String()) + ")"
}
