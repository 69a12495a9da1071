package merge

import (
	"fmt"
	"slices"
	"strings"
)

// Differences names what differs between a found text and the old text, such as
// "indentation" or "quotes", in a fixed order.
func Differences(found, old []string) []string {
	var names []string
	in := aligned(keys(old), keys(found))
	if len(found) != len(old) || slices.Contains(in, -1) {
		names = append(names, "lines")
	}
	for k, f := range in {
		if f < 0 || old[k] == found[f] {
			continue
		}
		names = append(names, lineDifferences(found[f], old[k])...)
	}
	order := []string{"indentation", "whitespace", "trailing whitespace", "non-breaking spaces", "quotes", "dashes", "ellipses", "text", "lines"}
	return slices.DeleteFunc(order, func(n string) bool { return !slices.Contains(names, n) })
}

func lineDifferences(found, old string) []string {
	var names []string
	if blank(found) && blank(old) {
		return []string{"trailing whitespace"}
	}
	if margin(found) != margin(old) {
		names = append(names, "indentation")
	}
	found, old = found[len(margin(found)):], old[len(margin(old)):]
	a, b := strings.TrimSpace(found), strings.TrimSpace(old)
	if found[len(a):] != old[len(b):] {
		names = append(names, "trailing whitespace")
	}
	if key(a) != key(b) {
		return append(names, "text")
	}
	x, y := tokens(a, false), tokens(b, false)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			names = append(names, tokenDifference(x[i]+y[i]))
		}
	}
	return names
}

func tokenDifference(both string) string {
	switch {
	case strings.Contains(both, "\u00a0"):
		return "non-breaking spaces"
	case blank(both):
		return "whitespace"
	case strings.ContainsAny(plain.Replace(both), `'"`):
		return "quotes"
	case strings.Contains(plain.Replace(both), "-"):
		return "dashes"
	}
	return "ellipses"
}

// The limits of what [Show] returns.
const (
	maxShownLines = 12
	maxShownSize  = 160
)

// Show returns the lines of a text from the one at byte start to the one at byte
// end, with their numbers, if they are not too many.
func Show(text string, start, end int) string {
	from := strings.LastIndexByte(text[:start], '\n') + 1
	to := len(text)
	if end > start && text[end-1] == '\n' {
		end--
	}
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		to = end + i
	}
	lines := strings.Split(text[from:to], "\n")
	first := strings.Count(text[:from], "\n") + 1
	var out strings.Builder
	for i, l := range lines {
		if i == maxShownLines {
			fmt.Fprintf(&out, "... (%d more)\n", len(lines)-i)
			break
		}
		fmt.Fprintf(&out, "%d: %s\n", first+i, clip(strings.TrimSuffix(l, "\r"), maxShownSize))
	}
	return out.String()
}

// clip truncates a line after a number of characters.
func clip(line string, most int) string {
	n := 0
	for i := range line {
		if n++; n > most {
			return line[:i] + "..."
		}
	}
	return line
}
