package ablation

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
)

// Loss is an assertion that a change removes from a test, or replaces.
type Loss struct {
	Path string
	Line int    // in the file before the change, from 1
	Was  string // without white space around it
	Now  string // the assertion that replaces it; "" if it is deleted
}

// Losses returns the assertions that the change deletes or replaces. One that another line of the changed tests still has was
// moved.
func (c *Change) Losses() (all []Loss) {
	added := map[string]int{}
	for _, h := range c.Hunks {
		for _, line := range c.lines(h, false) {
			added[line.text]++
		}
	}
	for _, h := range c.Hunks {
		var now []string
		for _, line := range c.lines(h, false) {
			now = append(now, line.text)
		}
		for _, line := range c.lines(h, true) {
			if added[line.text] > 0 {
				added[line.text]--
				now = slices.DeleteFunc(now, func(text string) bool { return text == line.text })
				continue
			}
			l := Loss{Path: h.Path, Line: line.number, Was: line.text}
			if len(now) > 0 {
				l.Now, now = now[0], now[1:]
			}
			all = append(all, l)
		}
	}
	return all
}

type numbered struct {
	number int
	text   string
}

// lines returns the assertions among the lines of a test that a hunk removes or adds.
func (c *Change) lines(h Hunk, removed bool) (all []numbered) {
	f := &c.files[h.file]
	if !h.Test {
		return nil
	}
	lines, first := f.after, 0
	switch {
	case removed && h.Kind == Lines:
		lines, first = f.before[h.lines.From:h.lines.To], h.lines.From
	case removed:
		lines = f.before
	case h.Kind == Lines:
		lines, first = f.after[h.lines.NewFrom:h.lines.NewTo], h.lines.NewFrom
	}
	if h.Kind == ModeOnly {
		return nil
	}
	for i, line := range lines {
		if text := strings.TrimSpace(line); testcases.Asserts(text) {
			all = append(all, numbered{first + i + 1, text})
		}
	}
	return all
}
