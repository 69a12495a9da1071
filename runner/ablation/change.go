package ablation

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
	"github.com/millhand/millhand/internal/text/linediff"
)

// Mode is what a path is.
type Mode string

// The modes.
const (
	Absent     Mode = ""
	Regular    Mode = "file"
	Executable Mode = "executable"
	Symlink    Mode = "symlink"
)

// Content is what a path is and contains; Data is the target of a symlink.
type Content struct {
	Mode Mode
	Data []byte
}

// File is a changed path.
type File struct {
	Path          string // slash separated
	Before, After Content
}

// Kind is what a hunk changes.
type Kind string

// The kinds of hunks. All but Lines are of a file.
const (
	Added    Kind = "added"    // a file
	Deleted  Kind = "deleted"  // a file
	Replaced Kind = "replaced" // a file that is not compared by lines
	ModeOnly Kind = "mode"
	Lines    Kind = "lines"
)

// Hunk is the unit of a change that is undone: contiguous lines, a mode, or a file that is added, deleted or not
// compared by lines. An added file with code is divided into blocks, which are lines.
type Hunk struct {
	Path           string
	Kind           Kind
	Line           int // first line in the changed file, from 1; 0 for a file
	Added, Removed int // lines
	Test           bool

	file  int // its index in the change
	lines linediff.Replacement
}

// Change is a change that is divided into hunks.
type Change struct {
	Hunks []Hunk // in the order of paths and lines
	files []changed
}

// changed is a file of a change.
type changed struct {
	File
	hunks         []int
	before, after []string // lines of texts
}

// Set is a set of hunks, by their indexes.
type Set map[int]bool

// With returns the set with more hunks.
func (s Set) With(more ...int) Set {
	union := maps.Clone(s)
	if union == nil {
		union = Set{}
	}
	for _, i := range more {
		union[i] = true
	}
	return union
}

// maxText is the maximum size in bytes of a file that is compared by lines.
const maxText = 4 << 20

// Read divides a change into hunks.
func Read(files []File) *Change {
	c := &Change{}
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) }) {
		c.add(f)
	}
	return c
}

func (c *Change) add(f File) {
	at := len(c.files)
	c.files = append(c.files, changed{File: f})
	is := &c.files[at]
	test := testcases.IsTest(f.Path)
	hunk := func(h Hunk) {
		h.Path, h.file = f.Path, at
		h.Test = h.Test || test
		is.hunks = append(is.hunks, len(c.Hunks))
		c.Hunks = append(c.Hunks, h)
	}
	if isText(f.Before) || f.Before.Mode == Absent {
		is.before = split(f.Before.Data)
	}
	if isText(f.After) || f.After.Mode == Absent {
		is.after = split(f.After.Data)
	}
	switch {
	case f.Before.Mode == Absent:
		parts := blocks(f.Path, is.after)
		if len(parts) < 2 || test {
			hunk(Hunk{Kind: Added, Added: len(is.after)})
			return
		}
		for _, r := range parts {
			hunk(Hunk{Kind: Lines, Line: r.NewFrom + 1, Added: r.NewTo - r.NewFrom, lines: r})
		}
		return
	case f.After.Mode == Absent:
		hunk(Hunk{Kind: Deleted, Removed: len(is.before)})
		return
	case !isText(f.Before) || !isText(f.After):
		hunk(Hunk{Kind: Replaced})
		return
	}
	if f.Before.Mode != f.After.Mode {
		hunk(Hunk{Kind: ModeOnly})
	}
	inTests := testLines(f.Path, is.after)
	for _, r := range linediff.Replacements(is.before, is.after) {
		hunk(Hunk{Kind: Lines, Line: r.NewFrom + 1, Added: r.NewTo - r.NewFrom, Removed: r.To - r.From, Test: inTests(r), lines: r})
	}
}

// testLines reports which lines of a file with other code are tests.
func testLines(file string, lines []string) func(linediff.Replacement) bool {
	if !testcases.Mixed(file) {
		return func(linediff.Replacement) bool { return false }
	}
	start := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "#[cfg(test)]") })
	return func(r linediff.Replacement) bool {
		return start >= 0 && r.NewFrom >= start || len(testcases.Cases(file, []byte(strings.Join(lines[r.NewFrom:r.NewTo], "")))) > 0
	}
}

func isText(c Content) bool {
	return (c.Mode == Regular || c.Mode == Executable) && len(c.Data) <= maxText && bytes.IndexByte(c.Data, 0) < 0
}

func split(data []byte) []string { return slices.Collect(strings.Lines(string(data))) }

// Tree is the files of a change as one trial has them.
type Tree []Entry

// Entry is a file of a tree.
type Entry struct {
	Path string
	Content
}

// Tree returns the files of the change without some hunks.
func (c *Change) Tree(without Set) Tree {
	t := make(Tree, len(c.files))
	for i := range c.files {
		t[i] = Entry{c.files[i].Path, c.files[i].without(c.Hunks, without)}
	}
	return t
}

func (f *changed) without(hunks []Hunk, undone Set) Content {
	left := 0
	for _, i := range f.hunks {
		if !undone[i] {
			left++
		}
	}
	switch {
	case left == len(f.hunks):
		return f.After
	case left == 0:
		return f.Before
	}
	out := Content{Mode: f.After.Mode}
	var b bytes.Buffer
	at := 0
	for _, i := range f.hunks {
		h := hunks[i]
		if h.Kind != Lines {
			if undone[i] {
				out.Mode = f.Before.Mode
			}
			continue
		}
		writeLines(&b, f.before[at:h.lines.From])
		if undone[i] {
			writeLines(&b, f.before[h.lines.From:h.lines.To])
		} else {
			writeLines(&b, f.after[h.lines.NewFrom:h.lines.NewTo])
		}
		at = h.lines.To
	}
	writeLines(&b, f.before[at:])
	out.Data = b.Bytes()
	return out
}

// writeLines writes lines after what was written, whose last line may lack its newline.
func writeLines(b *bytes.Buffer, lines []string) {
	for _, line := range lines {
		if n := b.Len(); n > 0 && b.Bytes()[n-1] != '\n' {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
}

// Key identifies a tree: two trees with the same key are the same files.
func (t Tree) Key() string {
	h := sha256.New()
	for _, e := range t {
		fmt.Fprintf(h, "%d %s %s %d\n", len(e.Path), e.Path, e.Mode, len(e.Data))
		h.Write(e.Data)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// divided reports whether a file is added, and divided into blocks.
func (f *changed) divided() bool { return f.Before.Mode == Absent && len(f.hunks) > 1 }

// code returns the hunks that are not tests.
func (c *Change) code() (all []int) {
	for i, h := range c.Hunks {
		if !h.Test {
			all = append(all, i)
		}
	}
	return all
}

// Base returns all hunks: without them, the tree is that of the base.
func (c *Change) Base() Set {
	all := Set{}
	for i := range c.Hunks {
		all[i] = true
	}
	return all
}

// Result is a hunk with what was found out about it.
type Result struct {
	Hunk
	Verdict
}

// Results returns the hunks that are not tests with their verdicts; nil verdicts are untried. An added file whose blocks have the
// same verdict is one hunk.
func (c *Change) Results(verdicts []Verdict) (all []Result) {
	if verdicts == nil {
		verdicts = slices.Repeat([]Verdict{{State: Untried}}, len(c.Hunks))
	}
	for _, group := range c.groups() {
		var of []Result
		for _, i := range group {
			of = append(of, Result{c.Hunks[i], verdicts[i]})
		}
		first := of[0]
		if c.isFile(group) && !slices.ContainsFunc(of, func(r Result) bool { return r.Verdict != first.Verdict }) {
			f := c.files[first.file]
			first.Hunk = Hunk{Path: f.Path, Kind: Added, Added: len(f.after), file: first.file}
			if first.File != "" {
				first.Verdict = Verdict{State: Needed, By: first.File}
			}
			of = []Result{first}
		}
		all = append(all, of...)
	}
	return all
}
