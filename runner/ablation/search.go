package ablation

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// State is what is known of a hunk.
type State string

// The states.
const (
	Needed   State = "needed"   // verify fails without it
	Unneeded State = "unneeded" // verify passes without it and all others that are unneeded
	Untried  State = "untried"
)

// Verdict is what a search found out about a hunk.
type Verdict struct {
	State State
	By    string // command that fails without it; "" unless it is needed
	File  string // of an untried block of an added file: the command that fails without the file; "" if that is not known
}

// Trier verifies trees. It returns the command that failed, "" for none, and false if the search has to end. ahead returns the trees
// that are tried next if this one fails, at most n, for trials that run concurrently.
type Trier func(t Tree, ahead func(n int) []Tree) (failed string, ok bool)

// Search finds the hunks that no command needs. Together they can be undone: each is tried without those that were found
// before, so that of two hunks that do the same one stays. Tests are not undone, because without them the verify commands
// would need less. Verdicts are those of Hunks; tests are left out of them, as untried.
//
// All hunks are tried first, then those of a file, then halves of these, while a command fails; the blocks of added files after all
// others, because there can be many. Afterwards, hunks that can only be undone together, such as an import and what uses it, are tried by the names that they have in common, and hunks that
// something unneeded needed are tried again.
func (c *Change) Search(try Trier) []Verdict {
	s := &search{change: c, try: try, undone: Set{}, verdicts: make([]Verdict, len(c.Hunks)), tested: make([]int, len(c.Hunks))}
	for i := range s.verdicts {
		s.verdicts[i].State = Untried
	}
	if s.halve() {
		s.again()
	}
	return s.verdicts
}

// MaxTrials returns the maximum number of trials of a search.
func (c *Change) MaxTrials() int {
	n := len(c.code())
	if n == 0 {
		return 0
	}
	return 1 + n + n - len(c.groups()) + retries*n
}

// retries is the maximum number of trials after the first pass, for each hunk.
const retries = 2

type search struct {
	change   *Change
	try      Trier
	undone   Set
	verdicts []Verdict
	tested   []int // number of undone hunks when a hunk was tried alone
}

// groups returns the hunks of each file, except tests.
func (c *Change) groups() (all [][]int) {
	for _, f := range c.files {
		if group := slices.DeleteFunc(slices.Clone(f.hunks), func(i int) bool { return c.Hunks[i].Test }); len(group) > 0 {
			all = append(all, group)
		}
	}
	return all
}

// halve tries groups and halves of them; false means that the search has to end.
func (s *search) halve() bool {
	left := s.change.groups()
	if len(left) > 1 {
		left = append([][]int{s.change.code()}, left...)
	}
	for first := true; len(left) > 0; first = false {
		group, rest := left[0], left[1:]
		next := rest
		if all := first && len(rest) > 0; !all {
			next = s.change.after(group, rest)
		}
		ok, passed := s.without(group, func(n int) []Tree { return s.following(next, n) })
		switch {
		case !ok:
			return false
		case passed && first:
			return true
		case passed:
			left = rest
		default:
			left = next
		}
	}
	return true
}

// halves returns the halves of a group; none for a single hunk.
func halves(group []int) [][]int {
	if len(group) < 2 {
		return nil
	}
	middle := len(group) / 2
	return [][]int{group[:middle], group[middle:]}
}

// after returns the groups that are tried after one that is needed.
func (c *Change) after(group []int, rest [][]int) [][]int {
	if c.isFile(group) {
		return slices.Concat(rest, halves(group))
	}
	return slices.Concat(halves(group), rest)
}

// isFile reports whether a group is all blocks of an added file.
func (c *Change) isFile(group []int) bool {
	f := c.files[c.Hunks[group[0]].file]
	return f.divided() && slices.Equal(f.hunks, group)
}

// following returns the trees of groups in the order in which they are tried if all fail.
func (s *search) following(groups [][]int, n int) (trees []Tree) {
	for len(groups) > 0 && len(trees) < n {
		trees = append(trees, s.change.Tree(s.undone.With(groups[0]...)))
		groups = s.change.after(groups[0], groups[1:])
	}
	return trees
}

// without tries to undo hunks beside those that are undone, and notes the result.
func (s *search) without(group []int, ahead func(n int) []Tree) (ok, passed bool) {
	undone := s.undone.With(group...)
	failed, ok := s.try(s.change.Tree(undone), ahead)
	switch {
	case !ok:
		return false, false
	case failed == "":
		s.undone = undone
		for _, i := range group {
			s.verdicts[i] = Verdict{State: Unneeded}
		}
		return true, true
	case len(group) == 1:
		s.verdicts[group[0]], s.tested[group[0]] = Verdict{State: Needed, By: failed}, len(s.undone)
	case s.change.isFile(group):
		for _, i := range group {
			s.verdicts[i].File = failed
		}
	}
	return true, false
}

// again tries the hunks that are needed in groups of those with common names, and alone if more hunks are undone
// than when they were tried.
func (s *search) again() {
	left := retries * len(s.change.code())
	linked := s.change.linked(func(i int) bool { return s.verdicts[i].State == Needed })
	tested := make([]int, len(linked))
	for i := range tested {
		tested[i] = -1
	}
	needed := func(i int) bool { return s.verdicts[i].State == Needed }
	for progress := true; progress; {
		progress = false
		var groups [][]int
		for i, group := range linked {
			if tested[i] < len(s.undone) && !slices.ContainsFunc(group, func(i int) bool { return !needed(i) }) {
				groups = append(groups, group)
			}
			tested[i] = len(s.undone)
		}
		for _, i := range slices.Backward(s.change.code()) { // what was added for others usually precedes them
			if needed(i) && s.tested[i] < len(s.undone) {
				groups = append(groups, []int{i})
			}
		}
		for n, group := range groups {
			if slices.ContainsFunc(group, func(i int) bool { return !needed(i) }) {
				continue // undone since then
			}
			if left--; left < 0 {
				return
			}
			rest := groups[n+1:]
			ok, passed := s.without(group, func(n int) (trees []Tree) {
				for _, g := range rest[:min(n, len(rest))] {
					trees = append(trees, s.change.Tree(s.undone.With(g...)))
				}
				return trees
			})
			if !ok {
				return
			}
			progress = progress || passed
		}
	}
}

// maxLinked is the maximum number of hunks that are tried together because of a common name.
const maxLinked = 4

var word = regexp.MustCompile(`[A-Za-z_]\w+`)

// linked returns groups of hunks that have a name in common that the change adds to all of its files or to one of them, or
// removes there: the smallest first. In an added file, where all names are new, it is one that only two blocks have.
func (c *Change) linked(include func(int) bool) (all [][]int) {
	before, after := make([]map[string]bool, len(c.files)), make([]map[string]bool, len(c.files))
	anyBefore, anyAfter := map[string]bool{}, map[string]bool{}
	blocks := make([]map[string]int, len(c.files))
	for i := range c.files {
		blocks[i] = c.inBlocks(c.files[i])
		before[i], after[i] = words(c.files[i].before), words(c.files[i].after)
		maps.Copy(anyBefore, before[i])
		maps.Copy(anyAfter, after[i])
	}
	type scope struct {
		file int // -1 for all
		name string
	}
	by := map[scope][]int{}
	for _, i := range c.code() {
		h := c.Hunks[i]
		if !include(i) {
			continue
		}
		for name := range c.names(h) {
			if in := blocks[h.file]; in == nil && (!before[h.file][name] || !after[h.file][name]) || in[name] == 2 {
				by[scope{h.file, name}] = append(by[scope{h.file, name}], i)
			}
			if !anyBefore[name] || !anyAfter[name] {
				by[scope{-1, name}] = append(by[scope{-1, name}], i)
			}
		}
	}
	for _, group := range by {
		if len(group) > 1 && len(group) <= maxLinked {
			all = append(all, group)
		}
	}
	slices.SortFunc(all, func(a, b []int) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	all = slices.CompactFunc(all, slices.Equal)
	return all[:min(len(all), len(c.code()))]
}

// inBlocks returns how many blocks of an added file have each name; nil for a file that is not divided.
func (c *Change) inBlocks(f changed) map[string]int {
	if !f.divided() {
		return nil
	}
	count := map[string]int{}
	for _, i := range f.hunks {
		for name := range c.names(c.Hunks[i]) {
			count[name]++
		}
	}
	return count
}

// names returns the words of a hunk.
func (c *Change) names(h Hunk) map[string]bool {
	f := &c.files[h.file]
	if h.Kind != Lines {
		all := words(f.before)
		maps.Copy(all, words(f.after))
		return all
	}
	all := words(f.before[h.lines.From:h.lines.To])
	maps.Copy(all, words(f.after[h.lines.NewFrom:h.lines.NewTo]))
	return all
}

func words(lines []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range word.FindAllString(strings.Join(lines, ""), -1) {
		all[name] = true
	}
	return all
}
