package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/money"
)

// screen draws live lines at the end of a terminal's text. The cursor stays at the end of
// the last one. Nothing is hidden or switched, so that a killed process leaves no more
// than a few lines.
type screen struct {
	out   io.Writer
	size  func() (cols, rows int)
	cols  int      // when lines were drawn
	lines []string // as drawn
}

// draw writes text above the live lines and replaces these, in one write, so that nothing
// flickers. It writes nothing if nothing changed.
func (s *screen) draw(text string, lines []string) {
	cols, _ := s.size()
	if text == "" && cols == s.cols && equal(lines, s.lines) {
		return
	}
	var b strings.Builder
	if up := s.rows(cols) - 1; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	if len(s.lines) > 0 {
		b.WriteString("\r")
	}
	if len(s.lines) > 0 && (text != "" || len(lines) == 0 || cols != s.cols) {
		b.WriteString("\x1b[J") // a wrapped line of the text would keep the end of a live line
	}
	b.WriteString(text)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(line + "\x1b[K")
	}
	if len(lines) > 0 {
		b.WriteString("\x1b[J")
	}
	s.cols, s.lines = cols, lines
	io.WriteString(s.out, b.String()) //nolint:errcheck // see Log
}

// rows returns the number of rows that the drawn lines have now: a terminal that became
// narrower has wrapped them.
func (s *screen) rows(cols int) int {
	n := 0
	for _, line := range s.lines {
		n += max(1, (columns(line)+cols-1)/max(1, cols))
	}
	return n
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// narrow is the width below which lines have no turn and no cost.
const narrow = 60

// lines returns the live lines: one per running job, the newest ones if there are too
// many for half of the screen, and the totals.
func (s *state) lines(on *screen) []string {
	if s.started.IsZero() {
		return nil
	}
	cols, rows := on.size()
	shown := s.newest(max(1, rows/2-2))
	label := 0
	for _, j := range shown {
		label = max(label, columns(j.id))
	}
	label = min(label, maxLabel, cols/3)
	var all []string
	for _, j := range shown {
		all = append(all, cut(s.line(j, label, cols), cols-1))
	}
	if more := len(s.running) - len(shown); more > 0 {
		all = append(all, cut(fmt.Sprintf("+%d more", more), cols-1))
	}
	return append(all, cut(s.total(), cols-1-len("^Z"))) // what a terminal adds for a signal must not wrap
}

// line returns the live line of a job: what it is doing, and for how long.
func (s *state) line(j *job, label, cols int) string {
	o := j.current()
	fields := []string{pad(cut(j.id, label), label), fmt.Sprintf("%6s", s.elapsed(o.since))}
	if cols >= narrow {
		turn := ""
		if n := j.turn(""); n > 0 {
			turn = fmt.Sprintf("turn %d", n)
		}
		fields = append(fields, pad(turn, 7), fmt.Sprintf("%8s", &j.cost))
	}
	return strings.Join(append(fields, o.text), "  ")
}

// total returns the live line of the run.
func (s *state) total() string {
	text := fmt.Sprintf("[%d/%d]  %s  %d running", s.done, s.jobs, s.elapsed(s.started), len(s.running))
	if s.failed > 0 {
		text += fmt.Sprintf(", %d failed", s.failed)
	}
	switch {
	case s.limit != nil:
		text += fmt.Sprintf("  %s of %s", money.Rounded(&s.spent.usd), money.Rounded(s.limit))
	case s.spent.String() != "":
		text += "  " + s.spent.String()
	}
	return text
}
