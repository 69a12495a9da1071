package unidiff

import (
	"math"
	"strconv"
	"strings"
)

const hunkStart = "@@ -"

// Range is the lines of one version of a file that a hunk shows.
type Range struct{ Start, Length int } // neither is negative

// Ranges reads the ranges of the old and the new version in the first line of a hunk, which follow "@@ -".
func Ranges(at string) (before, after Range) {
	old, rest, _ := strings.Cut(at, " ")
	now, _, _ := strings.Cut(strings.TrimPrefix(rest, "+"), " ")
	return rangeOf(old), rangeOf(now)
}

func rangeOf(s string) Range {
	first, second, two := strings.Cut(s, ",")
	r := Range{number(first), 1}
	if two {
		r.Length = number(second)
	}
	return r
}

// number returns a number of lines; 0 for other text.
func number(s string) int {
	n, _ := strconv.Atoi(s) // the largest one, if it is too large
	return min(max(0, n), math.MaxInt32)
}

// Line is a line of the new version of a file that a hunk shows.
type Line struct {
	Old, New int    // numbers, from 1; Old is 0 for an added line
	Text     string // without its line break
}

// Shown returns the lines of the new version that the hunks of a file show: those that were added, and the unchanged ones
// around them. It ends where the text is no diff.
func Shown(hunks string) []Line {
	var all []Line
	var before, after Range // what is still to come of the hunk
	for line := range strings.Lines(hunks) {
		text := strings.TrimSuffix(line, "\n")
		if before.Length <= 0 && after.Length <= 0 {
			at, ok := strings.CutPrefix(text, hunkStart)
			switch {
			case ok:
				before, after = Ranges(at)
			case !strings.HasPrefix(text, `\`) && text != "":
				return all
			}
			continue
		}
		content := text[min(1, len(text)):]
		switch {
		case strings.HasPrefix(text, "-") && before.Length > 0:
			before = before.next()
		case strings.HasPrefix(text, "+") && after.Length > 0:
			all = append(all, Line{0, after.Start, content})
			after = after.next()
		case (text == "" || text[0] == ' ') && before.Length > 0 && after.Length > 0:
			all = append(all, Line{before.Start, after.Start, content})
			before, after = before.next(), after.next()
		case strings.HasPrefix(text, `\`): // no line break at the end of the file
		default:
			return all
		}
	}
	return all
}

// next returns the range after its first line.
func (r Range) next() Range { return Range{r.Start + 1, r.Length - 1} }
