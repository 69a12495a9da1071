package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper says how a program that runs another finds it on its command line.
// An option that isn't described makes the command unknown.
type wrapper struct {
	options string                            // in the notation of options.go
	before  string                            // operands before the command: "-" none of a file, "<" a file that is read, ">" one that is written
	idle    string                            // options with which nothing is run
	assigns bool                              // assignments may stand before the command
	shell   bool                              // the command's words are joined and given to a shell
	each    bool                              // every operand is a script
	starts  bool                              // without a command a shell is started
	inShell bool                              // builtins of this shell are run as such
	permute bool                              // options may stand after operands
	find    func(w *walker, c call, p parsed) // finds the command in a way of its own
}

// unwrap looks at the command that a program runs.
func (w *walker) unwrap(c call, r wrapper) outcome {
	p := parseOptions(r.options, c.args(), !r.permute)
	for _, o := range p.options {
		if !o.known && strings.Trim(o.name, "-0123456789") != "" {
			w.unknown(ReasonOption, c.text)
		}
	}
	before := w.at
	defer func() { w.at = before }()
	w.options(p, c)
	w.enterOptions(p)
	if p.has(r.idle) {
		return same(before)
	}
	if r.find != nil {
		r.find(w, c, p)
		return same(before)
	}
	return w.wrapped(c, r, w.operandsBefore(r, p.operands, c))
}

// enterOptions changes to the directories that options name.
func (w *walker) enterOptions(p parsed) {
	for _, o := range p.options {
		if o.mark == markEnters && o.given {
			w.enter(o.value)
		}
	}
}

// enter changes the directory for what follows.
func (w *walker) enter(x word) {
	x, known := home(x)
	if !known || x.wildcard() >= 0 {
		w.at = places{anywhere: true}
		return
	}
	w.at = w.at.enter(spelled(x))
}

// operandsBefore skips the operands and assignments before a command.
func (w *walker) operandsBefore(r wrapper, words []word, c call) []word {
	for _, use := range r.before {
		if len(words) == 0 {
			return nil
		}
		if use != '-' {
			w.name(words[0], use == '>', "argument of "+c.words[0].text)
		}
		words = words[1:]
	}
	if r.assigns {
		return w.assignmentsBefore(words)
	}
	return words
}

// assignmentsBefore skips the assignments before a command.
func (w *walker) assignmentsBefore(words []word) []word {
	for len(words) > 0 {
		if _, _, ok := words[0].cut("="); !ok {
			break
		}
		w.variableWord(words[0])
		words = words[1:]
	}
	return words
}

// wrapped looks at the words of the command that c runs.
func (w *walker) wrapped(c call, r wrapper, words []word) outcome {
	switch {
	case len(words) == 0 && r.starts:
		w.shellInput(c)
	case len(words) == 0:
		if c.more {
			w.unknown(ReasonCommand, c.text)
		}
	case r.each:
		for _, x := range words {
			w.text(x, c)
		}
	case r.shell:
		w.text(join(words), c)
	default:
		inner := w.inner(c, words)
		inner.shell = c.shell && r.inShell
		return w.invoke(inner)
	}
	return same(w.at)
}

// env runs a command in a changed environment; -S splits a string into words.
func (w *walker) env(c call, p parsed) {
	words := p.operands
	if len(words) > 0 && words[0].is("-") {
		words = words[1:]
	}
	for _, o := range p.options {
		if (o.name == "-S" || o.name == "--split-string") && o.given {
			c.words = slices.Concat(c.words[:1], w.splitString(o.value, c), words)
			w.unwrap(c, w.wrappers["env"]) // they may begin with options
			return
		}
	}
	w.wrapped(c, wrapper{}, w.assignmentsBefore(words))
}

// splitString returns the words of env -S. Where its rules aren't those of the
// shell, the words aren't known.
func (w *walker) splitString(x word, c call) []word {
	if !x.literal() || strings.ContainsAny(x.text, ";|&<>()$`\\#*?[]{}~!\n") {
		w.text(x, c)
		w.unknown(ReasonScript, c.text)
		return nil
	}
	text := "env " + x.text
	s := w.load(text)
	if s.err != nil {
		w.unknown(ReasonScript, c.text)
		return nil
	}
	var words []word
	for _, stmt := range s.file.Stmts {
		if simple, ok := stmt.Cmd.(*syntax.CallExpr); ok {
			w.within(text, s.id, func() { words = w.words(simple.Args) })
		}
	}
	for i := range words {
		words[i].braced = true // they don't stand in the line as they are
	}
	return words[min(1, len(words)):]
}

// sudo runs a command, edits files (-e) or starts a shell (-s, -i).
func (w *walker) sudo(c call, p parsed) {
	if p.has("-e --edit") {
		for _, x := range p.operands {
			w.name(x, true, "argument of sudo -e")
		}
		return
	}
	w.wrapped(c, wrapper{starts: p.has("-s -i --shell --login")}, w.assignmentsBefore(p.operands))
}

// su is su and runuser: a script with -c, which is read with the options, a
// command with -u, else a shell.
func (w *walker) su(c call, p parsed) {
	switch {
	case p.has("-c --command --session-command"):
	case p.has("-u --user"):
		w.wrapped(c, wrapper{}, parseOptions(w.wrappers["su"].options, c.args(), true).operands)
	case len(p.operands) > 1 && !(len(p.operands) == 2 && p.operands[0].is("-")):
		w.unknown(ReasonScript, c.text)
	default:
		w.shellInput(c)
	}
}

// ssh runs a command on another machine, where a shell reads it. Options may
// stand after the host too.
func (w *walker) ssh(c call, p parsed) {
	if len(p.operands) == 0 {
		return
	}
	p = parseOptions(w.wrappers["ssh"].options, p.operands[1:], true)
	w.options(p, c)
	remote := w.remote
	w.remote = true
	w.wrapped(c, wrapper{shell: true, starts: true}, p.operands)
	w.remote = remote
}

// flock holds a lock, a file or a descriptor, while a command runs.
func (w *walker) flock(c call, p parsed) {
	words := p.operands
	if len(words) == 0 {
		return
	}
	if strings.Trim(words[0].text, "0123456789") != "" || len(words) > 1 {
		w.name(words[0], true, "argument of flock")
	}
	words = words[1:]
	if len(words) > 1 && (words[0].is("-c") || words[0].is("--command")) {
		w.text(words[1], c)
		return
	}
	w.wrapped(c, wrapper{}, words)
}

// typescript is script: it writes what a command or shell prints to a file.
func (w *walker) typescript(c call, p parsed) {
	if len(p.operands) == 0 {
		w.access("typescript", true, "output of script")
	} else {
		w.name(p.operands[0], true, "argument of script")
	}
	switch {
	case len(p.operands) > 1:
		w.wrapped(c, wrapper{}, p.operands[1:])
	case !p.has("-c --command"):
		w.shellInput(c)
	}
}

// watch repeats a command, which a shell runs unless -x is given.
func (w *walker) watch(c call, p parsed) {
	w.wrapped(c, wrapper{shell: !p.has("-x --exec")}, p.operands)
}

// xargs runs a command with arguments from its input, which take the place of
// a mark in the command or are added to it.
func (w *walker) xargs(c call, p parsed) {
	mark := ""
	for _, o := range p.options {
		switch {
		case o.name == "-I" || (o.name == "-i" || o.name == "--replace") && o.given:
			mark = o.value.text
		case o.name == "-i" || o.name == "--replace":
			mark = "{}"
		}
		if mark != "" && o.given && !o.value.literal() {
			w.unknown(ReasonCommand, c.text)
		}
	}
	c.more, c.input = mark == "", nil
	if len(p.operands) == 0 {
		p.operands = []word{plainWord("echo")}
	}
	w.wrapped(c, wrapper{}, substitute(p.operands, mark, single))
}

// parallel runs a command line for each of its arguments, which a shell reads
// with the arguments put in.
func (w *walker) parallel(c call, p parsed) {
	w.unknown(ReasonScript, c.text)
	words := p.operands
	if i := slices.IndexFunc(words, func(x word) bool { return strings.HasPrefix(x.text, ":::") }); i >= 0 {
		words = words[:i]
	}
	w.text(join(words), c)
}
