package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is a command about to be run.
type call struct {
	words     []word // the first one names the program
	text      string // its source
	shell     bool   // the shell itself runs it, so that builtins count
	functions bool   // and functions count too
	more      bool   // data adds arguments that nobody knows
	input     *word  // the here-document that is its standard input; nil if that is anything else
}

func (c call) args() []word { return c.words[1:] }

// inner returns the call of a command that c runs, which consists of some of
// its words.
func (w *walker) inner(c call, words []word) call {
	return call{words: words, text: w.textOf(words), more: c.more, input: c.input}
}

// textOf returns the source of words that stand side by side.
func (w *walker) textOf(words []word) string {
	if len(words) == 0 {
		return ""
	}
	if w.backquotes == 0 && !slices.ContainsFunc(words, func(x word) bool { return x.braced }) {
		return slice(w.src, words[0].from, words[len(words)-1].to)
	}
	return join(words).text
}

// simple walks a simple command: what it runs, then what stands in its words.
// The redirections happen where the shell was before.
func (w *walker) simple(s *syntax.Stmt, c *syntax.CallExpr) outcome {
	before, base := w.at, w.base
	if w.nested == 0 {
		w.base = int(c.Pos().Offset())
	}
	out := same(before)
	if words := w.words(c.Args); len(words) > 0 {
		text := commandText(w.src, s, c)
		if w.backquotes > 0 {
			text = join(words).text
		}
		out = w.invoke(call{words: words, text: text, shell: true, functions: true, input: w.input(s.Redirs)})
		w.at = before
	}
	w.base = base
	for _, a := range c.Assigns {
		analyzeAssignment(w, a, c.Args)
	}
	for _, x := range c.Args {
		if t := w.word(x); isBait(t) {
			w.bait = t.text
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

// input returns the here-document or here-string that a command reads.
func (w *walker) input(redirs []*syntax.Redirect) *word {
	var in *word
	for _, r := range redirs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			x := w.document(r)
			in = &x
		case syntax.WordHdoc:
			x := w.word(r.Word)
			in = &x
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			in = nil
		default: // output
		}
	}
	return in
}

// document returns a here-document's body. Nothing is special in it if any
// part of the delimiter is quoted.
func (w *walker) document(r *syntax.Redirect) word {
	if r.Hdoc == nil {
		return word{}
	}
	res := resolver{src: w.src, shifted: w.backquotes > 0}
	if isQuoted(r) {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				res.add(lit.Value, quoted)
			}
		}
	} else {
		res.parts(r.Hdoc.Parts, inDocument)
	}
	return word{text: res.text.String(), kinds: res.kinds.String()}
}

// invoke looks at a command and everything that it runs in its turn.
func (w *walker) invoke(c call) outcome {
	if len(c.words) == 0 || !w.spend(len(c.words)) {
		return same(w.at)
	}
	if !c.words[0].fixed() {
		w.record(c)
		w.unknown(ReasonCommand, c.words[0].text)
		if c.shell {
			return same(places{anywhere: true}) // it may be cd
		}
		return same(w.at)
	}
	c.words = localName(c.words)
	name := c.words[0].text
	var out outcome
	if c.functions {
		called, certain := w.function(name)
		if certain {
			if w.knows(name) {
				w.record(c)
			}
			return called
		}
		out = called
	}
	if !c.unreported(name) {
		w.record(c)
	}
	return out.or(w.effects(name, c))
}

// unreported tells the commands that aren't reported: cd, and an exec that
// only redirects.
func (c call) unreported(name string) bool {
	return c.shell && (name == "cd" || name == "exec" && len(c.words) == 1)
}

// effects looks at what a program does with its arguments.
func (w *walker) effects(name string, c call) outcome {
	if c.shell {
		if do := builtin(name); do != nil {
			return do(w, c)
		}
	}
	w.execute(c)
	name = path.Base(name) // of a program that isn't in a system folder: what it seems to be
	wrapper, wraps := w.wrappers[name]
	manager, manages := w.managers[name]
	program, known := w.programs[name]
	switch {
	case wraps:
		return unwrap(w, c, wrapper)
	case manages:
		manage(w, c, manager)
	case w.shells[name]:
		runShell(w, c)
	case known:
		runProgram(w, c, program)
	default:
		runUnknown(w, c)
	}
	return same(w.at)
}

// knows reports whether the analysis has something to say about a program.
func (w *walker) knows(name string) bool {
	_, wraps := w.wrappers[name]
	_, manages := w.managers[name]
	_, known := w.programs[name]
	return wraps || manages || known || w.shells[name] || builtin(name) != nil || w.dispatchers[name]
}

// function walks a function, if there is one, and tells whether there
// certainly is.
func (w *walker) function(name string) (out outcome, certain bool) {
	before, jumps := w.at, w.jumps
	w.jumps = places{}
	var reached places
	for _, b := range w.bodies {
		if b.name == name {
			w.at = before
			reached = reached.or(w.body(b))
		}
	}
	reached = reached.or(w.jumps)
	w.at, w.jumps = before, jumps
	if w.defined[name] && !strings.Contains(name, "/") {
		return same(reached), true
	}
	return same(reached), false
}

// body walks a function's body where it is called.
func (w *walker) body(b body) places {
	if slices.Contains(w.calls, b.stmt) {
		return places{anywhere: true}
	}
	w.called[b.stmt] = true
	w.calls = append(w.calls, b.stmt)
	returns := w.returns
	w.returns = true
	var out outcome
	w.within(b.src, b.id, func() {
		out = w.branch(w.at, func() outcome { return w.stmt(b.stmt) })
	})
	w.calls = w.calls[:len(w.calls)-1]
	w.returns = returns
	return out.either()
}

// uncalled walks the functions that the line doesn't call, which another
// shell may be given.
func (w *walker) uncalled() {
	for i := 0; i < len(w.bodies) && w.err == nil; i++ {
		if b := w.bodies[i]; !w.called[b.stmt] {
			w.at = w.all
			w.isolated(func() {
				w.defined = map[string]bool{}
				w.body(b)
			})
		}
	}
}

func (w *walker) declareFunction(c *syntax.FuncDecl) {
	if c.Name == nil {
		w.fail("a function has no name")
		return
	}
	w.defined[c.Name.Value] = true
}

// record reports a command, once.
func (w *walker) record(c call) {
	words := c.words
	if words[0].is("git") {
		words = gitPlain(w.programs["git"].options, words)
	}
	plain := join(words).text
	key := reportKey{script: w.id, from: c.words[0].from, plain: plain}
	if w.reported[key] {
		return
	}
	w.reported[key] = true
	w.found = append(w.found, found{Command{Text: c.text, Plain: plain, Open: open(words, c.more), Program: words[0].text, Inner: w.inside > 0}, w.base})
	if len(w.found) > maxCommands {
		w.fail("the line has more than %d commands", maxCommands)
	}
}

// open returns words joined by spaces with a NUL for what isn't known of them.
// What may become no word at all takes the space before it along. Wildcards count
// as known: what they find has to be there.
func open(words []word, more bool) string {
	var b strings.Builder
	holes := more
	for i, x := range words {
		whole := x.text != "" && strings.Trim(x.kinds, "*") == ""
		if i > 0 && !whole {
			b.WriteByte(' ')
		}
		for j := range len(x.text) {
			hole := strings.IndexByte("?*pf", x.kinds[j]) >= 0
			switch {
			case !hole:
				b.WriteByte(x.text[j])
			case j == 0 || x.kinds[j-1] != x.kinds[j]:
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

// localName returns the words of a command with the program's system folder
// removed. Git's own programs are made subcommands of git.
func localName(words []word) []word {
	first := words[0]
	if !strings.Contains(first.text, "/") {
		return words
	}
	clean := path.Clean(first.text)
	dir, name := path.Split(clean)
	switch dir {
	case "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/":
		return slices.Concat([]word{renamed(first, name)}, words[1:])
	case "/usr/lib/git-core/", "/usr/libexec/git-core/":
		if sub, ok := strings.CutPrefix(name, "git-"); ok {
			return slices.Concat([]word{renamed(first, "git"), renamed(first, sub)}, words[1:])
		}
		return slices.Concat([]word{renamed(first, name)}, words[1:])
	}
	return words
}

// renamed returns a word that stands where x does.
func renamed(x word, text string) word {
	y := plainWord(text)
	y.from, y.to, y.braced = x.from, x.to, x.braced
	return y
}

// runUnknown looks at a program of which nothing is known.
func runUnknown(w *walker, c call) {
	for _, x := range c.args() {
		if i := x.wildcard(); i >= 0 && strings.Contains(x.text[:i], "/") {
			w.name(x, false, "wildcard")
		}
	}
	if w.dispatchers[path.Base(c.words[0].text)] {
		checkSubcommand(w, c)
	}
}

// checkSubcommand reports a subcommand that isn't known.
func checkSubcommand(w *walker, c call) {
	for _, x := range c.args() {
		if !x.literal() {
			w.unknown(ReasonCommand, c.text)
			return
		}
		if !strings.HasPrefix(x.text, "-") {
			return
		}
	}
	if c.more {
		w.unknown(ReasonCommand, c.text)
	}
}
