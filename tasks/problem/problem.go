package problem

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

	in *File // nil if it can't be shown
}

// Source returns the text of the problem's file with the line breaks \n; "" if it is not
// known. Problems of one file share it.
func (p Problem) Source() string {
	if p.in == nil {
		return ""
	}
	return strings.Join(p.in.Lines, "\n")
}

// File is a file that problems are in.
type File struct {
	Name  string // as it was given
	Lines []string
	Found *Collector
}

// Problem returns a problem at a line and column.
func (f *File) Problem(line, column int, what, fix string) Problem {
	return Problem{File: f.Name, Line: line, Column: column, What: what, Fix: fix, in: f}
}

// Report adds a problem at a line and column.
func (f *File) Report(line, column int, what, fix string) {
	f.Found.Add(f.Problem(line, column, what, fix))
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

// List are all the mistakes that were found, sorted by file, line and
// column.
type List []Problem

// Error returns the problems, one a line.
func (ps List) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what one load reports: a file with more mistakes than
// this is not a manifest, and nobody reads on.
const maxProblems = 1000

// Collector gathers problems while files are read. The same problem counts
// once, however many jobs run into it.
type Collector struct {
	List []Problem
	seen map[Problem]bool
	full bool

	Reported int // problems, also those that count once

	Notes []string // what is no mistake, and yet worth saying
}

// maxNotes bounds what is said beside problems.
const maxNotes = 50

// Note records something that a user should know, and that stops nothing.
func (c *Collector) Note(text string) {
	if len(c.Notes) < maxNotes && !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// NewCollector returns a collector without problems.
func NewCollector() *Collector { return &Collector{seen: map[Problem]bool{}} }

// Add records a problem, unless it was recorded before or there are too many.
func (c *Collector) Add(p Problem) {
	c.Reported++
	if c.full || c.seen[p] {
		return
	}
	if len(c.List) == maxProblems {
		c.full = true
		return
	}
	c.seen[p] = true
	c.List = append(c.List, p)
}

// Err returns the problems in order, or nil if there are none.
func (c *Collector) Err() error {
	if len(c.List) == 0 {
		return nil
	}
	ps := List(slices.Clone(c.List))
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

// Suggest answers an unknown name: with the most similar known one, or with
// all of them after the words of otherwise.
func (c *Collector) Suggest(name string, known []string, otherwise string) string {
	if c.full {
		return ""
	}
	if fix := Suggestion(name, known); fix != "" {
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

// Suggestion is a remedy for a typing mistake, or "".
func Suggestion(word string, known []string) string {
	if best := Nearest(word, known, AllowedEdits(word)); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// DidYouMean returns "; did you mean X?" for the known name that is most similar to a word of a command line, or "".
func DidYouMean(word string, known []string) string {
	if best := Nearest(word, known, min(len(word)/3+2, 4)-1); best != "" { // one edit of two letters, two of three, three of six
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

// Nearest returns the known name that is the fewest edits away from name, the
// first of several, or "" if all take more than a number of edits.
func Nearest(name string, known []string, edits int) string {
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

// AllowedEdits is how many edits still make a typing mistake of a name.
func AllowedEdits(name string) int {
	switch n := utf8.RuneCountInString(name); {
	case n <= 2:
		return n - 1
	case n <= 6:
		return 2
	default:
		return min(n/3, 5)
	}
}

// Quote quotes a text of a manifest for a message: on one line, and not more
// of it than helps to recognise it.
func Quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "..."
	}
	return fmt.Sprintf("%q", s)
}

// Fault is what is wrong with a text, and how to fix it.
type Fault struct {
	At        int // offset in the text
	What, Fix string
}

func (f *Fault) Error() string { return f.What + "; " + f.Fix }
