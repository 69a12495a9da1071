package testcases

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
)

// File is a changed file. A version is nil where the file does not exist.
type File struct {
	Path          string // slash separated
	Before, After *Version
}

// Loss describes tests of one file that a change removes or skips.
type Loss struct{ Path, What string }

// growth is a file that has more cases after the change than before. It can have
// received that many cases of other files.
type growth struct {
	room     int
	received bool
}

// change has what the files of a change share.
type change struct {
	grown  map[string]*growth   // by path
	gained map[string][]*growth // by extension and case
	copies map[string]int       // new test files by extension and content
	skips  int                  // of files whose cases were moved, fewer than before
}

// Losses returns the tests that a change removes or skips, in the order of the paths: test
// files that were deleted or emptied, files with fewer test cases, and files with more
// skip markers than before. Cases that another test file of the same kind has gained
// under the same names were moved, and so was a file whose content another one has.
// New files may skip tests of their own.
func Losses(files []File) []Loss {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	c := newChange(files)
	var losses []Loss
	for _, f := range files {
		if what := c.lost(f); what != "" {
			losses = append(losses, Loss{f.Path, what})
		}
	}
	for _, f := range files {
		if n := c.skipped(f); n > 0 {
			losses = append(losses, Loss{f.Path, figures.Count(n, "skip marker") + " added"})
		}
	}
	slices.SortStableFunc(losses, func(a, b Loss) int { return cmp.Compare(a.Path, b.Path) })
	return losses
}

func newChange(files []File) *change {
	c := &change{grown: map[string]*growth{}, gained: map[string][]*growth{}, copies: map[string]int{}}
	for _, f := range files {
		if f.After == nil {
			continue
		}
		if f.Before == nil && IsTest(f.Path) {
			c.copies[f.content(f.After)]++
		}
		if room := len(f.After.cases) - len(f.cases()); room > 0 {
			g := &growth{room: room}
			c.grown[f.Path] = g
			for _, name := range without(f.After.cases, f.cases()) {
				c.gained[f.key(name)] = append(c.gained[f.key(name)], g)
			}
		}
	}
	return c
}

// cases returns the cases before the change.
func (f File) cases() []string {
	if f.Before == nil {
		return nil
	}
	return f.Before.cases
}

// key identifies a case among files of the same kind.
func (f File) key(name string) string { return path.Ext(f.Path) + "\x00" + name }

// content identifies a content among files of the same kind.
func (f File) content(v *Version) string { return f.key(string(v.sum[:])) }

// lost returns what happened to the cases of a file; "" for nothing.
func (c *change) lost(f File) string {
	switch {
	case f.Before == nil:
		return ""
	case len(f.Before.cases) == 0 && !IsTest(f.Path):
		return ""
	case len(f.Before.cases) == 0 && f.After == nil:
		if c.copies[f.content(f.Before)]--; c.copies[f.content(f.Before)] >= 0 {
			return ""
		}
		return "test file deleted"
	case len(f.Before.cases) == 0:
		if f.After.blank && !f.Before.blank {
			return "test file emptied"
		}
		return ""
	}
	after := cmp.Or(f.After, &Version{})
	missing, moved := c.move(f, without(f.Before.cases, after.cases))
	removed := len(f.Before.cases) - len(after.cases) - moved
	if moved > 0 {
		c.skips += max(0, f.Before.skips-after.skips)
	}
	switch {
	case removed <= 0:
		return ""
	case f.After == nil:
		return fmt.Sprintf("test file deleted, with %s%s", figures.Count(removed, "test case"), listed(missing))
	}
	return fmt.Sprintf("%s removed%s", figures.Count(removed, "test case"), listed(missing))
}

// move assigns missing cases of a file to files that have gained them. It returns those
// that none has, and the number of the others.
func (c *change) move(f File, missing []string) (still []string, moved int) {
	for _, name := range missing {
		to := c.receiver(f.key(name))
		if to == nil {
			still = append(still, name)
			continue
		}
		to.room--
		to.received = true
		moved++
	}
	return still, moved
}

// receiver removes and returns a file that has gained a case and has room for it, or nil.
func (c *change) receiver(key string) *growth {
	for {
		all := c.gained[key]
		if len(all) == 0 {
			return nil
		}
		last := all[len(all)-1]
		c.gained[key] = all[:len(all)-1]
		if last.room > 0 {
			return last
		}
	}
}

// skipped returns the number of skip markers that a file has more than before, except
// for those that were moved with their cases.
func (c *change) skipped(f File) int {
	g := c.grown[f.Path]
	if f.After == nil || f.Before == nil && (g == nil || !g.received) {
		return 0
	}
	n := f.After.skips
	if f.Before != nil {
		n -= f.Before.skips
	}
	if n <= 0 {
		return 0
	}
	known := 0
	if g != nil && g.received {
		known = min(n, c.skips)
		c.skips -= known
	}
	return n - known
}

// without returns the entries of a list that are not in another one, with duplicates.
func without(list, other []string) []string {
	count := map[string]int{}
	for _, s := range other {
		count[s]++
	}
	var rest []string
	for _, s := range list {
		if count[s]--; count[s] < 0 {
			rest = append(rest, s)
		}
	}
	return rest
}

// listed returns the first names of a list for a message; "" if none has a name.
func listed(names []string) string {
	const most, longest = 5, 80
	names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
	if len(names) == 0 {
		return ""
	}
	var shown []string
	for _, s := range names[:min(len(names), most)] {
		shown = append(shown, textcut.Head(textcut.OneLine(s), longest, "…"))
	}
	if len(names) > most {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
	}
	return ": " + strings.Join(shown, ", ")
}
