package publish

import "strings"

// RevertTitle returns the title of the inverse of a pull request with a title.
func RevertTitle(title string) string { return titleText("Revert \"" + title + "\"") }

// RevertBody returns the description of the inverse of a pull request, which a run had created.
// The reason may be "".
func RevertBody(url, run, reason string) string {
	text := "This reverts " + url + " of millhand run " + cell(run) + "."
	if reason != "" {
		text = strings.TrimSpace(harmless(reason)) + "\n\n" + text
	}
	return text
}

// Cell returns untrusted text as the cell of a Markdown table, which does nothing on a forge.
func Cell(text string) string { return cell(text) }
