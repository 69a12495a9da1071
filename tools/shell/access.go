package shell

import (
	"path"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// access reports that the line uses the path p.
func (w *walker) access(p string, write bool, why string) {
	if w.frame.remote || isDevice(p) {
		return
	}
	dirs := w.at.dirs
	switch {
	case word.IsRooted(p):
		dirs = []string{""}
	case w.at.anywhere:
		w.result.unknownPath(p, write)
		return
	}
	for _, d := range dirs {
		a := Access{Path: p, Dir: d, Write: write}
		if write && !keepsContent(why) {
			w.result.written[path.Clean(under(d, p))] = true
		}
		if !w.result.accessed[a] {
			w.result.accessed[a] = true
			a.Why = why
			w.result.accesses = append(w.result.accesses, a)
		}
	}
}

// isDevice reports whether a path is a device that every process may use.
func isDevice(p string) bool {
	if strings.Contains(p, "..") || !strings.HasPrefix(p, "/") {
		return false
	}
	switch p = path.Clean(p); p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/")
}

// name reports that the line uses the file that a word names. Of a name with
// wildcards or expansions it reports the directory before the first one.
func (w *walker) name(x word.Word, write bool, why string) {
	x, known := word.Home(x)
	switch {
	case w.frame.remote || x.Text == "" || strings.Trim(x.Kinds, "p") == "":
		return
	case strings.Contains(x.Kinds, string(word.Match)):
		w.matched(x, write, why)
		return
	case !known:
		w.result.unknownPath(x.Text, write)
	}
	cut := x.Wildcard()
	if e := x.Expansion(); e >= 0 && (cut < 0 || e < cut) {
		cut = e
	}
	if cut < 0 {
		w.access(word.Spelled(x), write, why)
		return
	}
	w.wild(x, cut, write, why)
}

// wild reports the directory of a name that is known up to cut.
func (w *walker) wild(x word.Word, cut int, write bool, why string) {
	dir, base := word.Spelled(x.Before(cut)), ""
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		dir, base = dir[:max(i, 1)], dir[i+1:]
	} else {
		dir, base = ".", dir
	}
	if x.Literal() && leavesUpwards(x.Text[cut-len(base):]) {
		w.result.unknownPath(x.Text, write)
	}
	if x.Literal() || dir != "." {
		w.access(dir, write, why)
	}
}

// leavesUpwards reports whether a pattern can match "..", or is followed by it.
func leavesUpwards(pattern string) bool {
	first, rest, _ := strings.Cut(pattern, "/")
	if strings.HasPrefix(first, ".") {
		if ok, err := path.Match(first, ".."); ok || err != nil {
			return true
		}
	}
	for element := range strings.SplitSeq(rest, "/") {
		if element == ".." || strings.HasPrefix(element, ".") && strings.ContainsAny(element, "*?[") {
			return true
		}
	}
	return false
}

// matched reports the directories that find searches, for {}.
func (w *walker) matched(x word.Word, write bool, why string) {
	if strings.Contains(x.Text, "..") {
		w.result.unknownPath(x.Text, write)
	}
	for _, dir := range w.matches {
		w.name(dir, write, why)
	}
}

// execute notes that a command is run by its path. One that bears the name of
// a program with a meaning here, and stands outside, may well be that program.
func (w *walker) execute(c call) {
	name := c.words[0]
	if !strings.Contains(name.Text, "/") {
		return
	}
	outside := word.IsRooted(name.Text) || strings.Contains(name.Text, "..")
	if base := path.Base(name.Text); outside && hasMeaning(base) || strings.HasPrefix(path.Clean(name.Text), "/proc") {
		w.result.unknown(effect.ReasonCommand, name.Text)
	}
	w.result.run = append(w.result.run, execution{path: word.Spelled(name), at: w.at, text: c.text})
}

// keepsContent reports whether an access leaves the content under a name as it
// is.
func keepsContent(why string) bool {
	switch strings.TrimPrefix(why, "argument of ") {
	case "chmod", "chown", "chgrp", "touch", "mkdir", "rm", "rmdir", "unlink":
		return true
	}
	return false
}
