package shell

import (
	"fmt"
	"path"
	"slices"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// findings collects what a line can do, each thing once.
type findings struct {
	found    []found
	accesses []Access
	unknowns []Unknown
	moved    bool  // by cd
	err      error // the first reason to give up

	reported map[reportKey]bool
	accessed map[Access]bool
	unsure   map[Unknown]bool
	written  map[string]bool // files whose content the line changes
	run      []execution     // files that the line runs
}

func newFindings() findings {
	return findings{
		reported: map[reportKey]bool{}, accessed: map[Access]bool{}, unsure: map[Unknown]bool{}, written: map[string]bool{},
	}
}

// found is a command and where in the line it stands.
type found struct {
	Command
	at int
}

type reportKey struct {
	script, from int
	plain        string
}

// execution is a file that the line runs by its path.
type execution struct {
	path string
	at   places
	text string
}

// fail gives the analysis up.
func (r *findings) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *findings) unknown(reason effect.Reason, text string) {
	r.unsureOf(Unknown{Text: text, Reason: reason})
}

// unknownPath reports a file of which the line does not tell which one it is.
func (r *findings) unknownPath(text string, write bool) {
	r.unsureOf(Unknown{Text: text, Reason: effect.ReasonPath, Write: write})
}

func (r *findings) unsureOf(u Unknown) {
	if !r.unsure[u] {
		r.unsure[u] = true
		r.unknowns = append(r.unknowns, u)
	}
}

// ranOwnFiles reports the files that the line both writes and runs: nobody
// has seen what is in them.
func (r *findings) ranOwnFiles() {
	for _, e := range r.run {
		dirs := e.at.dirs
		if word.IsRooted(e.path) {
			dirs = []string{""}
		}
		for _, d := range dirs {
			if r.written[path.Clean(under(d, e.path))] {
				r.unknown(effect.ReasonFile, e.text)
			}
		}
		if e.at.anywhere && len(r.written) > 0 && !word.IsRooted(e.path) {
			r.unknown(effect.ReasonFile, e.text)
		}
	}
}

// analysis returns what was found, the commands in the order of the source.
func (r *findings) analysis() Analysis {
	slices.SortStableFunc(r.found, func(a, b found) int { return a.at - b.at })
	a := Analysis{Accesses: r.accesses, Unknown: r.unknowns, Moves: r.moved}
	for _, f := range r.found {
		a.Commands = append(a.Commands, f.Command)
	}
	return a
}
