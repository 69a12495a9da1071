package publish

import (
	"regexp"
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
)

// pause is a zero width space: it separates characters that forges would act on.
const pause = "\u200b"

var (
	// Mentions notify people, references to issues leave a trace there and close them
	// after words such as "fixes", and images are loaded from servers.
	notifying = regexp.MustCompile(`([@#!])([\w\["])`)
	closing   = regexp.MustCompile(`(?i)\b(GH|[A-Z][A-Z0-9]+)-(\d)`)
	issueURL  = regexp.MustCompile(`/(issues|pull|pulls|merge_requests|work_items)/(\d)`)
	entity    = regexp.MustCompile(`&(#?\w+;)`)
	tag       = regexp.MustCompile(`<([A-Za-z/!?])`)
	// A line that starts with a slash is a command for GitLab.
	quickAction = regexp.MustCompile(`(?m)^([\s>*+-]*)/`)
)

// harmless returns a model's text as Markdown that notifies nobody, closes no issue, runs
// no command, loads no image and has no HTML.
func harmless(text string) string { return harmlessHead(text, maxSummary) }

// harmlessHead is harmless for the first bytes of a text.
func harmlessHead(text string, bytes int) string {
	text = textcut.Head(strings.TrimSpace(printable.Text(text)), bytes, truncated)
	text = entity.ReplaceAllString(text, "&amp;$1")
	text = tag.ReplaceAllString(text, "&lt;$1")
	text = notifying.ReplaceAllString(text, "$1"+pause+"$2")
	text = closing.ReplaceAllString(text, "$1-"+pause+"$2")
	text = issueURL.ReplaceAllString(text, "/$1/"+pause+"$2")
	text = quickAction.ReplaceAllString(text, "$1"+`\/`)
	return closed(text)
}

// closed closes a block of code, which would extend over what follows.
func closed(text string) string {
	if strings.Count(text, "```")%2 == 1 {
		text += "\n```"
	}
	return text
}

const truncated = "\n\n[truncated]"

// cell returns a text in one line of a table.
func cell(text string) string {
	return strings.ReplaceAll(harmless(printable.Line(text, printable.Width)), "|", `\|`)
}

func titleText(text string) string {
	return textcut.Head(printable.Line(strings.ReplaceAll(text, "@", "@"+pause), maxTitle), maxTitle, "...")
}

func bodyText(text string) string { return textcut.Head(text, maxBody, truncated) }
