package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// execution is a file that the line runs by its path.
type execution struct {
	path string
	at   places
	text string
}

// access reports that the line uses the path p.
func (w *walker) access(p string, write bool, why string) {
	if w.remote || isDevice(p) {
		return
	}
	dirs := w.at.dirs
	switch {
	case isRooted(p):
		dirs = []string{""}
	case w.at.anywhere:
		w.unknownPath(p, write)
		return
	}
	for _, d := range dirs {
		a := Access{Path: p, Dir: d, Write: write}
		if write && !keepsContent(why) {
			w.written[path.Clean(under(d, p))] = true
		}
		if !w.accessed[a] {
			w.accessed[a] = true
			a.Why = why
			w.accesses = append(w.accesses, a)
		}
	}
}

// isDevice tells the devices that belong to every process.
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
func (w *walker) name(x word, write bool, why string) {
	x, known := home(x)
	switch {
	case w.remote || x.text == "" || strings.Trim(x.kinds, "p") == "":
		return
	case strings.Contains(x.kinds, string(match)):
		w.matched(x, write, why)
		return
	case !known:
		w.unknownPath(x.text, write)
	}
	cut := x.wildcard()
	if e := x.expansion(); e >= 0 && (cut < 0 || e < cut) {
		cut = e
	}
	if cut < 0 {
		w.access(spelled(x), write, why)
		return
	}
	w.wild(x, cut, write, why)
}

// wild reports the directory of a name that is known up to cut.
func (w *walker) wild(x word, cut int, write bool, why string) {
	dir, base := spelled(x.before(cut)), ""
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		dir, base = dir[:max(i, 1)], dir[i+1:]
	} else {
		dir, base = ".", dir
	}
	if x.literal() && leavesUpwards(x.text[cut-len(base):]) {
		w.unknownPath(x.text, write)
	}
	if x.literal() || dir != "." {
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
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." || strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") {
			return true
		}
	}
	return false
}

// matched reports the directories that find searches, in place of {}.
func (w *walker) matched(x word, write bool, why string) {
	if strings.Contains(x.text, "..") {
		w.unknownPath(x.text, write)
	}
	for _, dir := range w.matches {
		w.name(dir, write, why)
	}
}

// spelled returns a known name so that a "~" that is none can't be mistaken.
func spelled(x word) string {
	if strings.HasPrefix(x.text, "~") && x.kinds[0] != bare {
		return "./" + x.text
	}
	return x.text
}

// home rewrites a word that begins with a variable for a directory that is
// known ($HOME, $PWD), and tells whether the word is literal then.
func home(x word) (word, bool) {
	for _, v := range []struct{ variable, path string }{
		{"$HOME", "~"}, {"${HOME}", "~"}, {"$PWD", "."}, {"${PWD}", "."}, {"$(pwd)", "."}, {"`pwd`", "."},
	} {
		rest, ok := strings.CutPrefix(x.text, v.variable)
		n := len(v.variable)
		if !ok || rest != "" && rest[0] != '/' || strings.Trim(x.kinds[:n], "?*") != "" {
			continue
		}
		x.text, x.kinds = v.path+rest, string(bare)+x.kinds[n:]
		break
	}
	if strings.HasPrefix(x.text, "~+") || strings.HasPrefix(x.text, "~-") {
		return x, x.kinds[0] != bare
	}
	return x, x.literal()
}

// redirects walks redirections: their files, and what their words run.
func (w *walker) redirects(list []*syntax.Redirect) {
	for _, r := range list {
		w.substitutions(r.Word)
		if r.Hdoc != nil {
			w.bodyText(r)
		}
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			changeVariable(w, strings.Trim(r.N.Value, "{}"), r)
		}
		for _, x := range w.braces(r.Word) {
			w.redirect(r, x)
		}
	}
}

// bodyText looks at the body of a here-document. Bash joins its lines at
// backslashes before it looks for commands in it, even within their quotes.
func (w *walker) bodyText(r *syntax.Redirect) {
	w.quotedParameters(r.Hdoc.Parts)
	w.substitutions(r.Hdoc)
	text := w.document(r)
	if isBait(text) {
		w.bait = text.text
	}
	if body := source(w.src, r.Hdoc); text.expansion() >= 0 && strings.Contains(body, "\\\n") {
		w.unknown(ReasonScript, body)
	}
}

func (w *walker) redirect(r *syntax.Redirect, x word) {
	write := true
	switch r.Op {
	case syntax.RdrIn:
		write = false
	case syntax.DplOut: // >&x is a file unless x is a descriptor
		if x.text == "-" || strings.Trim(x.text, "0123456789") == "" || strings.Trim(x.text, "0123456789") == "-" {
			return
		}
		if r.N != nil && r.N.Value != "1" && !x.literal() {
			return
		}
		if expandsTwice(x) {
			w.unknown(ReasonScript, source(w.src, r))
		}
	case syntax.Hdoc, syntax.DashHdoc, syntax.DplIn:
		return
	case syntax.WordHdoc:
		w.data(x)
		return
	default: // every other one writes
	}
	if x.starts("/dev/tcp/") || x.starts("/dev/udp/") {
		w.unknown(ReasonNetwork, x.text)
		return
	}
	w.name(x, write, "redirection")
}

// expandsTwice reports whether there is something in quotes in the word of ">&"
// that may be special: bash expands the word of that operator, and then the
// result.
func expandsTwice(x word) bool {
	for i := range len(x.text) {
		if x.kinds[i] == quoted && !isName(x.text[i]) && strings.IndexByte("/.-+,:@% ", x.text[i]) < 0 {
			return true
		}
	}
	return false
}

// execute notes that a command is run by its path. One that bears the name of
// a program with a meaning here, and stands outside, may well be that program.
func (w *walker) execute(c call) {
	name := c.words[0]
	if !strings.Contains(name.text, "/") {
		return
	}
	outside := isRooted(name.text) || strings.Contains(name.text, "..")
	if base := path.Base(name.text); outside && w.knows(base) || strings.HasPrefix(path.Clean(name.text), "/proc") {
		w.unknown(ReasonCommand, name.text)
	}
	w.run = append(w.run, execution{path: spelled(name), at: w.at, text: c.text})
}

// ranOwnFiles reports the files that the line both writes and runs: nobody
// has seen what is in them.
func (w *walker) ranOwnFiles() {
	for _, e := range w.run {
		dirs := e.at.dirs
		if isRooted(e.path) {
			dirs = []string{""}
		}
		for _, d := range dirs {
			if w.written[path.Clean(under(d, e.path))] {
				w.unknown(ReasonFile, e.text)
			}
		}
		if e.at.anywhere && len(w.written) > 0 && !isRooted(e.path) {
			w.unknown(ReasonFile, e.text)
		}
	}
}

// keepsContent tells accesses that change a file's name in no way that makes
// it another program.
func keepsContent(why string) bool {
	switch strings.TrimPrefix(why, "argument of ") {
	case "chmod", "chown", "chgrp", "touch", "mkdir", "rm", "rmdir", "unlink":
		return true
	}
	return false
}
