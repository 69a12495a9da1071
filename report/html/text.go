package html

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
)

// text is any text, escaped and without hidden characters.
func text(s string) g.Node { return g.Text(printable.Visible(s)) }

// block is a text with its line breaks.
func block(class, s string) g.Node {
	return h.Pre(g.If(class != "", h.Class(class)), text(strings.TrimRight(s, "\n")))
}

// code is a short text in the font of code.
func code(s string) g.Node { return h.Code(text(s)) }

// cut shortens a text to the start and the end of it, at most limit bytes.
func cut(s string, limit int) string {
	return textcut.Ends(s, limit-limit/3, limit/3, fmt.Sprintf("\n… %s omitted …\n", figures.Bytes(int64(len(s)-limit))))
}

// fold is a section of the page that is closed at first.
func fold(class string, summary, content []g.Node) g.Node {
	return h.Details(g.If(class != "", h.Class(class)), h.Summary(summary...), h.Div(content...))
}

// badge is an outcome or a status, with its colour.
func badge(status string) g.Node {
	return h.Span(h.Class("badge "+tone(status)), text(status))
}

// tone is the class of the colour of an outcome or a status.
func tone(status string) string {
	switch status {
	case string(event.Passed), string(event.CallCompleted), "ready":
		return "good"
	case string(findings.Note), string(event.Skipped), "not_needed":
		return "calm"
	case string(findings.Warning), string(event.Limit), string(event.Budget), string(event.Cancelled), string(event.Provider), "absent":
		return "warn"
	case string(event.Policy), string(event.CallDenied):
		return "deny"
	}
	return "bad"
}

// address is an address that can be followed.
func address(url string) g.Node { return linked(url, url) }

// linked is a text that leads to an address of the web, and only the text for other schemes and no address.
func linked(url, shown string) g.Node {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") || strings.ContainsFunc(url, printable.Hidden) {
		return code(shown)
	}
	return h.A(h.Href(url), g.Attr("rel", "noopener noreferrer"), text(shown))
}
