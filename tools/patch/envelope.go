package patch

import (
	"errors"
	"fmt"
	"strings"
)

// envelope returns the lines between the marks that begin and end a patch, and
// the number of the first. Words, a here-document or a fence around them are left
// out, but not marks: a part of a patch that is outside was meant to count.
func envelope(text string) ([]string, int, error) {
	lines := strings.Split(strings.TrimPrefix(text, bom), "\n")
	begin := 0
	for begin < len(lines) && strings.TrimSpace(lines[begin]) != beginMark {
		if isMark(lines[begin]) {
			return nil, 0, outside(lines, begin)
		}
		begin++
	}
	if begin == len(lines) {
		return nil, 0, errors.New("missing *** Begin Patch line")
	}
	end := ending(lines, begin)
	if end < 0 {
		return nil, 0, errors.New("missing *** End Patch line; the patch may have been truncated")
	}
	for i := end + 1; i < len(lines); i++ {
		if isMark(lines[i]) {
			return nil, 0, outside(lines, i)
		}
	}
	makePlain(lines[begin : end+1])
	return lines[begin+1 : end], begin + 2, nil
}

func outside(lines []string, i int) error {
	return fmt.Errorf("line %d of the patch: %s is outside of *** Begin Patch and *** End Patch; put all sections in one patch", i+1, quote(strings.TrimSpace(lines[i])))
}

// isMark reports whether a line has a meaning inside a patch.
func isMark(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "*** ") || strings.HasPrefix(line, hunkMark)
}

// makePlain takes from all lines of a patch what its first has too many: a
// carriage return at the end, and white space before it if every line has that.
func makePlain(lines []string) {
	if strings.HasSuffix(lines[0], "\r") {
		for i, l := range lines {
			lines[i] = strings.TrimSuffix(l, "\r")
		}
	}
	indent := lines[0][:strings.Index(lines[0], "*")]
	for _, l := range lines {
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, indent) {
			return
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, indent)
	}
}

// ending returns the line that ends the patch, or -1: the first mark at the
// margin, or else the last one with white space before it. A hunk may have a
// line of that text in it.
func ending(lines []string, begin int) int {
	padded := -1
	for i := begin + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != endMark {
			continue
		}
		if strings.HasPrefix(lines[i], "*") {
			return i
		}
		padded = i
	}
	return padded
}
