package publish

import (
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
)

// The maximum lengths of texts of a pull request, in bytes. Forges accept 255 characters
// and 65,536.
const (
	maxTitle   = 200
	maxBody    = 60_000
	maxSummary = 30_000
	maxComment = 50_000
	maxFinding = 1_000 // of one text of a finding, in characters
)

// harmless returns a model's text as Markdown that has no effect on a forge.
func harmless(text string) string { return harmlessHead(text, maxSummary) }

// harmlessHead is harmless for a maximum length in bytes.
func harmlessHead(text string, bytes int) string {
	return unmarked(markdown.Fitted(text, bytes, func(int) string { return "[truncated]" }))
}

var marker = regexp.MustCompile(`<!(--\s*/?\s*millhand)`)

// unmarked breaks the markers by which millhand finds its comments, its state and its sections of descriptions: code has
// them as they are.
func unmarked(text string) string { return marker.ReplaceAllString(text, "<! $1") }

const truncated = "\n\n[truncated]"

// cell returns a short text in one line of a table.
func cell(text string) string { return cellHead(text, printable.Width) }

// cellHead returns at most n characters of a text in one line of a table.
func cellHead(text string, n int) string { return unmarked(markdown.Line(printable.Line(text, n))) }

func titleText(text string) string {
	return textcut.Head(strings.ReplaceAll(printable.Line(textcut.Plain(text), maxTitle), "@", "@"+printable.Pause), maxTitle, "...")
}

func bodyText(text string) string { return textcut.Head(text, maxBody, truncated) }
