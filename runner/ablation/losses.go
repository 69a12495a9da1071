package ablation

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
)

// Lost is what a change does to an assertion or to a test, beside the changes of assertions of package testcases.
const (
	AssertionDeleted = "deleted"
	TestDeleted      = "test_deleted"
	TestReplaced     = "test_replaced" // another one is in its position: it was renamed, or it is another test
	TestSkipped      = "skipped"       // a marker excludes tests
	ExitIgnored      = "ignored"       // the exit code of a command that tests
)

// Loss is an assertion or a test that a change removes or weakens.
type Loss struct {
	Path string
	Kind string
	Line int    // from 1: in the file before the change, or after it for skipped tests and ignored exit codes
	Was  string // without white space around it; the name of a test
	Now  string // what replaces it; "" if it is deleted
}

// Losses returns what the change removes from the tests, in the order of the hunks: assertions that it deletes or replaces, and tests that
// it deletes, replaces or skips. What another line of the changed tests still has was moved.
func (c *Change) Losses() (all []Loss) {
	added, gained := map[string]int{}, c.newNames()
	for i := range c.Hunks {
		for _, line := range c.lines(i, false) {
			added[line.text]++
		}
	}
	for i := range c.Hunks {
		all = append(all, c.lostCases(i, gained)...)
		all = append(all, c.lostAssertions(i, added)...)
		all = append(all, c.silenced(i)...)
	}
	return all
}

// lostAssertions returns the assertions that a hunk deletes or replaces. added counts the lines that the change adds to tests: one of
// them is still there.
func (c *Change) lostAssertions(hunk int, added map[string]int) (all []Loss) {
	var now, others []string
	for _, line := range c.lines(hunk, false) {
		if testcases.Asserts(line.text) {
			now = append(now, line.text)
		} else {
			others = append(others, line.text)
		}
	}
	for _, line := range c.lines(hunk, true) {
		if !testcases.Asserts(line.text) {
			continue
		}
		if added[line.text] > 0 {
			added[line.text]--
			if at := slices.Index(now, line.text); at >= 0 {
				now = slices.Delete(now, at, at+1)
			}
			continue
		}
		l := Loss{Path: c.Hunks[hunk].Path, Kind: AssertionDeleted, Line: line.number, Was: line.text}
		if at := slices.IndexFunc(others, func(text string) bool { return testcases.Silenced(l.Was, text) != "" }); at >= 0 {
			l.Now, l.Kind = others[at], string(testcases.Silenced(l.Was, others[at]))
			others = slices.Delete(others, at, at+1)
		} else if len(now) > 0 {
			l.Now, now = now[0], now[1:]
			l.Kind = string(testcases.Compare(l.Was, l.Now))
		}
		all = append(all, l)
	}
	return all
}

// newNames counts the test cases that files have more than before, by their extension and name.
func (c *Change) newNames() map[string]int {
	count := map[string]int{}
	for i := range c.files {
		f := &c.files[i]
		for _, name := range f.newCases() {
			count[path.Ext(f.Path)+" "+name]++
		}
	}
	return count
}

// lostCases returns the test cases that a hunk deletes, or replaces by others. gained counts the new ones of the change: a case that
// another file has gained was moved.
func (c *Change) lostCases(hunk int, gained map[string]int) (all []Loss) {
	h := c.Hunks[hunk]
	f := &c.files[h.file]
	if !h.Test || h.Kind == ModeOnly || f.Before.Mode == Absent {
		return nil
	}
	after := testcases.Declared(f.Path, strings.Join(f.after, ""))
	has := func(list []testcases.Case, name string) bool {
		return slices.ContainsFunc(list, func(c testcases.Case) bool { return c.Name == name })
	}
	var instead []string
	for _, one := range after {
		if h.Kind == Lines && one.Line >= h.lines.NewFrom && one.Line < h.lines.NewTo && slices.Contains(f.newCases(), one.Name) {
			instead = append(instead, one.Name)
		}
	}
	for _, one := range testcases.Declared(f.Path, strings.Join(f.before, "")) {
		key := path.Ext(f.Path) + " " + one.Name
		switch {
		case h.Kind == Lines && (one.Line < h.lines.From || one.Line >= h.lines.To), has(after, one.Name):
			continue
		case gained[key] > 0:
			gained[key]--
			continue
		}
		l := Loss{Path: h.Path, Kind: TestDeleted, Line: one.Line + 1, Was: one.Name}
		if len(instead) > 0 {
			l.Kind, l.Now, instead = TestReplaced, instead[0], instead[1:]
		}
		all = append(all, l)
	}
	return all
}

// silenced returns the markers that a hunk adds which exclude tests, and the commands whose exit code it ignores. New test files may
// skip tests of their own.
func (c *Change) silenced(hunk int) (all []Loss) {
	h := c.Hunks[hunk]
	f := &c.files[h.file]
	if h.Kind != Lines || f.Before.Mode == Absent {
		return nil
	}
	before := map[string]bool{}
	for _, line := range f.before {
		before[strings.TrimSpace(line)] = true
	}
	var skips []int
	if h.Test {
		skips = testcases.Skips(f.Path, strings.Join(f.after, ""))
	}
	for i := h.lines.NewFrom; i < h.lines.NewTo; i++ {
		l := Loss{Path: h.Path, Line: i + 1, Now: strings.TrimSpace(f.after[i])}
		switch {
		case before[l.Now]:
			continue
		case slices.Contains(skips, i):
			l.Kind = TestSkipped
		case testcases.Ignores(f.Path, l.Now):
			l.Kind = ExitIgnored
		default:
			continue
		}
		all = append(all, l)
	}
	return all
}

type numbered struct {
	number int
	text   string
}

// lines returns the lines of a test that a hunk removes or adds, without those that are empty.
func (c *Change) lines(hunk int, removed bool) (all []numbered) {
	h := c.Hunks[hunk]
	f := &c.files[h.file]
	if !h.Test || h.Kind == ModeOnly {
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
	for i, line := range lines {
		if text := strings.TrimSpace(line); text != "" {
			all = append(all, numbered{first + i + 1, text})
		}
	}
	return all
}
