package summary

import (
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/text/printable"
)

// markup escapes every special character of GitHub's Markdown. The zero-width spaces
// break autolinks: mentions, references to issues, URLs.
var markup = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "`", "&#96;",
	"*", "&#42;", "_", "&#95;", "~", "&#126;", "|", "&#124;", "$", "&#36;",
	"[", "&#91;", "]", "&#93;", "!", "&#33;",
	"@", "@&#8203;", "#", "#&#8203;", "://", ":&#8203;//",
	"\n", "<br>", "\t", " ",
)

var webAddress = regexp.MustCompile(`(?i)\bwww\.`)

// inline escapes any text as one line of Markdown.
func inline(s string) string {
	s = markup.Replace(printable.Visible(s))
	return webAddress.ReplaceAllStringFunc(s, func(www string) string { return www[:3] + "&#8203;." })
}

// code formats a short text as a code span, or as escaped HTML if it has special
// characters.
func code(s string) string {
	s = printable.Visible(strings.TrimSpace(s))
	switch {
	case s == "":
		return ""
	case strings.ContainsAny(s, "`|\\<>[]!&@~\n\t"):
		return "<code>" + inline(s) + "</code>"
	}
	return "`" + s + "`"
}

// fence formats a text as a code block of a language, whose fence is longer than any run
// of backticks in it.
func fence(language, s string) string {
	s = printable.Disarm(strings.TrimRight(printable.Visible(s), "\n"))
	ticks := printable.Fence(s)
	return ticks + language + "\n" + s + "\n" + ticks + "\n"
}
