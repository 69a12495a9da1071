package publish

import (
	"strings"

	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/textcut"
)

// The maximum lengths of texts of a pull request, in bytes. Forges accept 255 characters
// and 65,536.
const (
	maxTitle   = 200
	maxBody    = 60_000
	maxSummary = 30_000
	maxComment = 50_000 // its size grows where it is made harmless
	maxFinding = 1_000  // of one text of a finding, in characters
)

// harmless returns a model's text as Markdown that notifies nobody, closes no issue, runs
// no command, loads no image and has no HTML.
func harmless(text string) string { return harmlessHead(text, maxSummary) }

// harmlessHead is harmless for a maximum length in bytes.
func harmlessHead(text string, bytes int) string {
	return closed(printable.Markdown(textcut.Head(strings.TrimSpace(printable.Text(text)), bytes, truncated)))
}

// closed closes a block of code, which would extend over what follows.
func closed(text string) string {
	if strings.Count(text, "```")%2 == 1 {
		text += "\n```"
	}
	return text
}

const truncated = "\n\n[truncated]"

// cell returns a short text in one line of a table.
func cell(text string) string { return cellHead(text, printable.Width) }

// cellHead returns at most n characters of a text in one line of a table, which starts no
// block of code.
func cellHead(text string, n int) string {
	line := printable.Markdown(printable.Line(text, n))
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
		line = `\` + line
	}
	return strings.ReplaceAll(line, "|", `\|`)
}

func titleText(text string) string {
	return textcut.Head(printable.Line(strings.ReplaceAll(textcut.Plain(text), "@", "@"+printable.Pause), maxTitle), maxTitle, "...")
}

func bodyText(text string) string { return textcut.Head(text, maxBody, truncated) }
