package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Write is an operation on one file. A move is two of them: for the target and
// for the source.
type Write struct {
	Path    string   // the file, as the patch first writes it
	Content []byte   // new content; nil with Delete
	Delete  bool     // the file is removed
	From    string   // for a move's target, the source, whose mode it should get
	To      string   // for a move's source, the target
	Existed bool     // the file at Path exists
	Before  []byte   // its old content
	Lost    bool     // for a move's target, whether the move discards its old content
	Notes   []string // for each hunk that did not match exactly, what differed, and the lines that the file now has
}

// Summary describes the writes, one line per file: "A new.go",
// "M changed.go", "D gone.go", "R old.go -> new.go",
// with a remark if an existing file is replaced.
func Summary(writes []Write) []string {
	var lines []string
	for _, w := range writes {
		switch {
		case w.Delete && w.To != "": // the target's line covers it
		case w.Delete:
			lines = append(lines, "D "+w.Path)
		case w.Lost:
			lines = append(lines, "R "+w.From+" -> "+w.Path+" (replaced the existing "+w.Path+")")
		case w.From != "":
			lines = append(lines, "R "+w.From+" -> "+w.Path)
		case w.Existed:
			lines = append(lines, "M "+w.Path)
		default:
			lines = append(lines, "A "+w.Path)
		}
	}
	return lines
}

// writes compares the old and the new states of the files.
func (a *applier) writes() ([]Write, error) {
	if err := a.parentDirs(); err != nil {
		return nil, err
	}
	var puts, deletes []Write
	moved := a.moved()
	for _, s := range a.order {
		w := Write{Path: s.path, Existed: s.existed, Before: s.before}
		switch {
		case s.exists:
			w.Content, w.Notes = s.now, s.notes
			if s.origin != "" && s.origin != key(s.path) {
				w.From = a.files[s.origin].path
				w.Lost = s.existed && moved[key(s.path)] == ""
			}
			if !s.existed || w.From != "" || !bytes.Equal(s.before, s.now) {
				puts = append(puts, w)
			}
		case s.existed:
			w.Delete, w.To = true, moved[key(s.path)]
			deletes = append(deletes, w)
		}
	}
	all := slices.Concat(puts, deletes)
	if len(all) == 0 {
		return nil, ErrNothing
	}
	return all, nil
}

// moved maps the keys of moved files to their new paths.
func (a *applier) moved() map[string]string {
	to := map[string]string{}
	for _, s := range a.order {
		if s.exists && s.origin != "" {
			to[s.origin] = s.path
		}
	}
	return to
}

// parentDirs refuses paths that would have to be a file and a directory.
func (a *applier) parentDirs() error {
	for _, s := range a.order {
		dir := key(s.path)
		for i := strings.LastIndexByte(dir, '/'); s.exists && i > 0; i = strings.LastIndexByte(dir, '/') {
			dir = dir[:i]
			if above, ok := a.files[dir]; ok && above.exists {
				return fmt.Errorf("the patch makes %s a file but needs it as a directory for %s", above.path, s.path)
			}
		}
	}
	return nil
}
