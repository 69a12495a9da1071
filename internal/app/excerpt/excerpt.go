// Package excerpt has the lines of manifests that mistakes are in, without secrets, as a terminal shows them. It knows neither
// how manifests are read nor what prints the lines.
package excerpt

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/width"

	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks/problem"
)

// Lines shows the lines of manifests that have problems.
type Lines struct {
	Known  *redact.Redactor
	file   string   // whose lines they are
	lines  []string // as written
	public []string // redacted: secrets may extend over lines
}

// Of returns the line of a problem and a caret below its column, each with a line break;
// "" for a problem without a column, or if the line can't be shown.
func (e *Lines) Of(p problem.Problem) string {
	if p.Line < 1 || p.Column < 1 {
		return ""
	}
	if e.lines == nil || e.file != p.File {
		text := p.Source()
		e.file, e.lines, e.public = p.File, strings.Split(text, "\n"), strings.Split(e.Known.Text(text), "\n")
	}
	if p.Line > len(e.lines) || len(e.lines) != len(e.public) {
		return ""
	}
	line := e.lines[p.Line-1]
	if e.Known.Text(line) != e.public[p.Line-1] || strings.TrimSpace(line) == "" {
		return "" // a line of a secret with several lines
	}
	before, after := e.split(line, p.Column)
	before, after = cutAround(before, after)
	text, left := printable.Text(before+after), printable.Text(before)
	number := fmt.Sprintf("%5d", p.Line)
	if !strings.HasPrefix(text, left) { // a sequence of characters that is not printed extends over the column
		return fmt.Sprintf("%s | %s\n", number, strings.TrimRight(text, " \t"))
	}
	return fmt.Sprintf("%s | %s\n%*s | %s^\n", number, strings.TrimRight(text, " \t"), len(number), "", blank(left))
}

// namedSecret matches the value of a key with the name of a secret, to the end of
// the line. References to variables are not secret.
var namedSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:key|token|secret|password|passwd|passphrase|authorization|credentials?|cookie|webhook)["']?\s*[:=]\s+["']?([^\s"'$#{[].*)`)
})

// split divides a line before a column, and replaces secrets in it. A secret that contains
// the column is in the second half.
func (e *Lines) split(line string, column int) (before, after string) {
	at := len(line)
	for i := range line {
		if column--; column == 0 {
			at = i
			break
		}
	}
	found := e.Known.Find(line)
	if m := namedSecret().FindStringSubmatchIndex(line); m != nil {
		for len(found) > 0 && found[len(found)-1].End > m[2] {
			m[2] = min(m[2], found[len(found)-1].Start)
			found = found[:len(found)-1]
		}
		found = append(found, redact.Finding{Start: m[2], End: len(line)})
	}
	start := 0
	for _, f := range found {
		if f.End <= at {
			before += line[start:f.Start] + redact.Mark
			start = f.End
		} else if f.Start < at {
			at = f.Start
		}
	}
	before += line[start:at]
	start = at
	for _, f := range found {
		if f.Start >= at {
			after += line[start:f.Start] + redact.Mark
			start = f.End
		}
	}
	return before, after + line[start:]
}

// The characters that are shown of a long line before and after the column.
const (
	shownBefore = 60
	shownAfter  = 60
)

// cutAround shortens the two parts of a line at its ends.
func cutAround(before, after string) (string, string) {
	if r := []rune(before); len(r) > shownBefore {
		before = "…" + string(r[len(r)-shownBefore:])
	}
	if r := []rune(after); len(r) > shownAfter {
		after = string(r[:shownAfter]) + "…"
	}
	return before, after
}

// blank returns white space that is as wide as a text on a terminal.
func blank(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\t':
			b.WriteRune(r)
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // no width of its own
		case wide(r):
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// wide reports whether a character has the width of two.
func wide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}
