package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/program"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// call is a command about to be run.
type call struct {
	words     []word.Word // the first one names the program
	text      string      // its source
	shell     bool        // the shell itself runs it, so that builtins count
	functions bool        // and functions count too
	more      bool        // data adds arguments that nobody knows
	input     *word.Word  // the here-document that is its standard input; nil if that is anything else
}

func (c call) args() []word.Word { return c.words[1:] }

// simple walks a simple command: what it runs, then what stands in its words.
// The redirections happen where the shell was before.
func (w *walker) simple(s *syntax.Stmt, c *syntax.CallExpr) outcome {
	before, base := w.at, w.frame.base
	if w.frame.nested == 0 {
		w.frame.base = int(c.Pos().Offset())
	}
	out := same(before)
	if words := w.words(c.Args); len(words) > 0 {
		text := commandText(w.frame.src, s, c)
		if w.frame.backquotes > 0 {
			text = word.Join(words).Text
		}
		out = w.invoke(call{words: words, text: text, shell: true, functions: true, input: w.input(s.Redirs)})
		w.at = before
	}
	w.frame.base = base
	for _, a := range c.Assigns {
		analyzeAssignment(w, a, c.Args)
	}
	for _, x := range c.Args {
		if t := w.frame.word(x); runsIfEvaluated(t) {
			w.unevaluated = t.Text
		}
		w.substitutions(x)
	}
	w.redirects(s.Redirs)
	return out
}

// commandText returns the source of a command with its redirections, which may
// stand before it.
func commandText(src string, s *syntax.Stmt, c *syntax.CallExpr) string {
	from, to := c.Pos().Offset(), c.End().Offset()
	for _, r := range s.Redirs {
		from, to = min(from, r.Pos().Offset()), max(to, r.Word.End().Offset())
	}
	return slice(src, int(from), int(to))
}

// invoke analyzes a command and everything that it runs in its turn.
func (w *walker) invoke(c call) outcome {
	if len(c.words) == 0 || !w.spend(len(c.words)) {
		return same(w.at)
	}
	if !c.words[0].Fixed() {
		w.record(c)
		w.result.unknown(effect.ReasonCommand, c.words[0].Text)
		if c.shell {
			return same(places{anywhere: true}) // it may be cd
		}
		return same(w.at)
	}
	c.words = localName(c.words)
	name := c.words[0].Text
	var out outcome
	if c.functions {
		called, certain := w.function(name)
		if certain {
			if hasMeaning(name) {
				w.record(c)
			}
			return called
		}
		out = called
	}
	if !c.unreported(name) {
		w.record(c)
	} else if name == "cd" {
		w.result.moved = true
	}
	return out.or(w.effects(name, c))
}

// unreported reports whether a command isn't reported: cd, and an exec that only
// redirects.
func (c call) unreported(name string) bool {
	return c.shell && (name == "cd" || name == "exec" && len(c.words) == 1)
}

// record reports a command, once.
func (w *walker) record(c call) {
	words := c.words
	if words[0].Is("git") {
		words = program.PlainGit(words)
	}
	plain := word.Join(words).Text
	key := reportKey{script: w.frame.id, from: c.words[0].From, plain: plain}
	if w.result.reported[key] {
		return
	}
	w.result.reported[key] = true
	w.result.found = append(w.result.found, found{Command{Text: c.text, Plain: plain, Open: open(words, c.more), Program: words[0].Text, Inner: w.frame.inside > 0}, w.frame.base})
	if len(w.result.found) > maxCommands {
		w.result.fail("command line has more than %d commands", maxCommands)
	}
}

// open returns words joined by spaces with a NUL for what isn't known of them.
// A word that may expand to nothing includes the space before it. Wildcards count
// as known: the files that they match exist.
func open(words []word.Word, more bool) string {
	var b strings.Builder
	holes := more
	for i, x := range words {
		known := x.Text != "" && strings.Trim(x.Kinds, "*") == ""
		if i > 0 && !known {
			b.WriteByte(' ')
		}
		for j := range len(x.Text) {
			hole := strings.IndexByte("?*pf", x.Kinds[j]) >= 0
			switch {
			case !hole:
				b.WriteByte(x.Text[j])
			case j == 0 || x.Kinds[j-1] != x.Kinds[j]:
				b.WriteByte(0)
			}
			holes = holes || hole
		}
	}
	if !holes {
		return ""
	}
	if more {
		b.WriteByte(0)
	}
	return b.String()
}

// localName returns the words of a command without the program's system
// directory. Git's own programs become subcommands of git.
func localName(words []word.Word) []word.Word {
	first := words[0]
	if !strings.Contains(first.Text, "/") {
		return words
	}
	clean := path.Clean(first.Text)
	dir, name := path.Split(clean)
	switch dir {
	case "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/":
		return slices.Concat([]word.Word{first.Renamed(name)}, words[1:])
	case "/usr/lib/git-core/", "/usr/libexec/git-core/":
		if sub, ok := strings.CutPrefix(name, "git-"); ok {
			return slices.Concat([]word.Word{first.Renamed("git"), first.Renamed(sub)}, words[1:])
		}
		return slices.Concat([]word.Word{first.Renamed(name)}, words[1:])
	}
	return words
}
