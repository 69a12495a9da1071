package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Problem is one mistake in a manifest, in a profile or on the command line.
type Problem struct {
	File   string // as it was given; for a mistake on the command line, the flag
	Line   int    // from 1; 0 if the mistake is not in a file
	Column int    // from 1, in characters
	What   string
	Fix    string // how to fix it; may be empty

	in *file // nil if it can't be shown
}

// Source returns the text of the problem's file with the line breaks \n; "" if it is not
// known. Problems of one file share it.
func (p Problem) Source() string {
	if p.in == nil {
		return ""
	}
	return strings.Join(p.in.lines, "\n")
}

// file is a file that problems are in.
type file struct {
	name  string // as it was given
	lines []string
	found *collector
}

// problem returns a problem at a line and column.
func (f *file) problem(line, column int, what, fix string) Problem {
	return Problem{File: f.name, Line: line, Column: column, What: what, Fix: fix, in: f}
}

// report adds a problem at a line and column.
func (f *file) report(line, column int, what, fix string) {
	f.found.add(f.problem(line, column, what, fix))
}

// String returns the problem as file:line:col: what; how to fix it.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + p.What)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Problems are all the mistakes that were found, sorted by file, line and
// column.
type Problems []Problem

// Error returns the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what one load reports: a file with more mistakes than
// this is not a manifest, and nobody reads on.
const maxProblems = 1000

// collector gathers problems while files are read. The same problem counts
// once, however many jobs run into it.
type collector struct {
	list []Problem
	seen map[Problem]bool
	full bool

	reported int // problems, also those that count once

	notes []string // what is no mistake, and yet worth saying
}

// maxNotes bounds what is said beside problems.
const maxNotes = 50

// note records something that a user should know, and that stops nothing.
func (c *collector) note(text string) {
	if len(c.notes) < maxNotes && !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

func newCollector() *collector { return &collector{seen: map[Problem]bool{}} }

func (c *collector) add(p Problem) {
	c.reported++
	if c.full || c.seen[p] {
		return
	}
	if len(c.list) == maxProblems {
		c.full = true
		return
	}
	c.seen[p] = true
	c.list = append(c.list, p)
}

// err returns the problems in order, or nil if there are none.
func (c *collector) err() error {
	if len(c.list) == 0 {
		return nil
	}
	ps := Problems(slices.Clone(c.list))
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if c.full {
		ps = append(ps, Problem{File: ps[len(ps)-1].File, What: fmt.Sprintf("more than %d problems", maxProblems), Fix: "fix these first"})
	}
	return ps
}

// maxCandidates limits the search for a similar name, whose time is proportional
// to it for each unknown name.
const maxCandidates = 1000

// suggest answers an unknown name: with the most similar known one, or with
// all of them after the words of otherwise.
func (c *collector) suggest(name string, known []string, otherwise string) string {
	if c.full {
		return ""
	}
	if fix := suggestion(name, known); fix != "" {
		return fix
	}
	if len(known) == 0 {
		return "none are defined"
	}
	const shown = 40 // all keys of a manifest
	list := strings.Join(known[:min(len(known), shown)], ", ")
	if len(known) > shown {
		list += ", ..."
	}
	return otherwise + list
}

// suggestion is a remedy for a typing mistake, or "".
func suggestion(word string, known []string) string {
	if best := nearest(word, known, allowedEdits(word)); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// nearest returns the known name that is the fewest edits away from name, the
// first of several, or "" if all take more than a number of edits.
func nearest(name string, known []string, edits int) string {
	name = strings.ToLower(name)
	best, least := "", edits+1
	for _, k := range known[:min(len(known), maxCandidates)] {
		if d := len(k) - len(name); max(d, -d) >= least {
			continue
		}
		if d := levenshtein.ComputeDistance(name, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// allowedEdits is how many edits still make a typing mistake of a name.
func allowedEdits(name string) int {
	switch n := utf8.RuneCountInString(name); {
	case n <= 2:
		return n - 1
	case n <= 6:
		return 2
	default:
		return min(n/3, 5)
	}
}

// quote quotes a text of a manifest for a message: on one line, and not more
// of it than helps to recognise it.
func quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "..."
	}
	return fmt.Sprintf("%q", s)
}

// fault is what is wrong with a text, and how to fix it.
type fault struct {
	at        int // offset in the text
	what, fix string
}

func (f *fault) Error() string { return f.what + "; " + f.fix }
