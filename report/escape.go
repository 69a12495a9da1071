package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden tells whether a character does not show, or changes how others show:
// control characters but tab and newline, direction marks and the like. The
// two joiners are left, because scripts and emoji need them.
func hidden(r rune) bool {
	switch r {
	case '\t', '\n', '\u200c', '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// visible shows what is hidden in a text: control characters by their
// pictures, others by their number. Line ends become plain newlines.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for _, r := range s { // gives U+FFFD for what is no UTF-8
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// plain makes a text one line for a terminal, without hidden characters.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case hidden(r):
			return -1
		}
		return r
	}, s)
	return disarm(strings.TrimSpace(s))
}

var command = regexp.MustCompile(`(?m)^([\s\p{Z}]*)::`)

// disarm breaks what a GitHub runner takes for a command when it stands in a
// log: "::" at the start of a line, and "##[" anywhere.
func disarm(s string) string {
	return strings.ReplaceAll(command.ReplaceAllString(s, "${1}: :"), "##[", "## [")
}

// markup is every character by which Markdown, as GitHub reads it, would do
// more than show a text. The zero-width spaces break what it finds without
// any markup: mentions, references to issues, addresses.
var markup = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "`", "&#96;",
	"*", "&#42;", "_", "&#95;", "~", "&#126;", "|", "&#124;", "$", "&#36;",
	"[", "&#91;", "]", "&#93;", "!", "&#33;",
	"@", "@&#8203;", "#", "#&#8203;", "://", ":&#8203;//",
	"\n", "<br>", "\t", " ",
)

var webAddress = regexp.MustCompile(`(?i)\bwww\.`)

// inline makes any text one line of Markdown that shows it and does nothing else.
func inline(s string) string {
	s = markup.Replace(visible(s))
	return webAddress.ReplaceAllStringFunc(s, func(www string) string { return www[:3] + "&#8203;." })
}

// code is a short text in a code span. Where a span would need care, HTML with
// the text escaped takes its place.
func code(s string) string {
	s = visible(strings.TrimSpace(s))
	switch {
	case s == "":
		return ""
	case strings.ContainsAny(s, "`|\\<>[]!&@~\n\t"):
		return "<code>" + inline(s) + "</code>"
	}
	return "`" + s + "`"
}

// fence puts a text in a code block whose fence is longer than any run of
// backticks in it.
func fence(s string) string {
	s = disarm(strings.TrimRight(visible(s), "\n"))
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", max(3, longest+1))
	return ticks + "text\n" + s + "\n" + ticks + "\n"
}

// encoded replaces what is no UTF-8, as writing the text to JSON and reading
// it again would: what is cut off must not depend on where a text came from.
func encoded(s string) string {
	return strings.Map(func(r rune) rune { return r }, s)
}

// head cuts a text to limit bytes and says how much was left out.
func head(s string, limit int) string {
	s = encoded(s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes in report.json)", s[:cut], len(s)-cut)
}

// tail is as head but keeps the end.
func tail(s string, limit int) string {
	s = encoded(s)
	if len(s) <= limit {
		return s
	}
	cut := len(s) - limit
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return fmt.Sprintf("(%d bytes before this in report.json) …%s", cut, s[cut:])
}
