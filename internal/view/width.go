package view

import (
	"github.com/mattn/go-runewidth"

	"github.com/millhand/millhand/internal/text/printable"
)

// widths has the widths of characters: those that are ambiguous are narrow, whatever the
// locale, so that a log does not depend on it. Lines leave one column free.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// columns returns the width of a text on a terminal.
func columns(s string) int { return widths.StringWidth(s) }

// cut shortens a line to n columns.
func cut(s string, n int) string { return widths.Truncate(printable.Text(s), n, "…") }

// pad fills a text with spaces to n columns.
func pad(s string, n int) string { return widths.FillRight(s, n) }
