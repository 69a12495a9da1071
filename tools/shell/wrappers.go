package shell

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper describes how a program that runs another finds it on its command line.
// An option that isn't described makes the command unknown.
type wrapper struct {
	options string                                 // in the notation of options.go
	before  string                                 // operands before the command: "-" not a file, "<" a file that is read, ">" one that is written
	idle    string                                 // options with which it runs nothing
	assigns bool                                   // assignments may precede the command
	shell   bool                                   // the command's words are joined and given to a shell
	each    bool                                   // every operand is a script
	starts  bool                                   // without a command a shell is started
	inShell bool                                   // builtins of this shell are run as such
	permute bool                                   // options may follow operands
	code    func(w *walker, c call, p word.Parsed) // a parser of its own that finds the command
}

// unwrap analyzes the command that a program runs.
func unwrap(w *walker, c call, r wrapper) outcome {
	p := word.ParseOptions(r.options, c.args(), !r.permute)
	for _, o := range p.Options {
		if !o.Known && strings.Trim(o.Name, "-0123456789") != "" {
			w.result.unknown(effect.ReasonOption, c.text)
		}
	}
	before := w.at
	defer func() { w.at = before }()
	optionEffects(w, p, c)
	enterOptions(w, p)
	if p.Has(r.idle) {
		return same(before)
	}
	if r.code != nil {
		r.code(w, c, p)
		return same(before)
	}
	return runWrapped(w, c, r, operandsBefore(w, r, p.Operands, c))
}

// enterOptions changes to the directories that options name.
func enterOptions(w *walker, p word.Parsed) {
	for _, o := range p.Options {
		if o.Mark == word.MarkEnters && o.Given {
			enterDir(w, o.Value)
		}
	}
}

// enterDir changes the directory for what follows.
func enterDir(w *walker, x word.Word) {
	x, known := word.Home(x)
	if !known || x.Wildcard() >= 0 {
		w.at = places{anywhere: true}
		return
	}
	w.at = w.at.enter(word.Spelled(x))
}

// operandsBefore skips the operands and assignments before a command.
func operandsBefore(w *walker, r wrapper, words []word.Word, c call) []word.Word {
	for _, use := range r.before {
		if len(words) == 0 {
			return nil
		}
		if use != '-' {
			w.name(words[0], use == '>', "argument of "+c.words[0].Text)
		}
		words = words[1:]
	}
	if r.assigns {
		return assignmentsBefore(w, words)
	}
	return words
}

// assignmentsBefore skips the assignments before a command.
func assignmentsBefore(w *walker, words []word.Word) []word.Word {
	for len(words) > 0 {
		if _, _, ok := words[0].Cut("="); !ok {
			break
		}
		changeNamed(w, words[0])
		words = words[1:]
	}
	return words
}

// runWrapped analyzes the words of the command that c runs.
func runWrapped(w *walker, c call, r wrapper, words []word.Word) outcome {
	switch {
	case len(words) == 0 && r.starts:
		shellInput(w, c)
	case len(words) == 0:
		if c.more {
			w.result.unknown(effect.ReasonCommand, c.text)
		}
	case r.each:
		for _, x := range words {
			w.text(x, c)
		}
	case r.shell:
		w.text(word.Join(words), c)
	default:
		inner := w.inner(c, words)
		inner.shell = c.shell && r.inShell
		return w.invoke(inner)
	}
	return same(w.at)
}

// parseEnv finds the command after assignments; -S splits a string into words.
func parseEnv(w *walker, c call, p word.Parsed) {
	words := p.Operands
	if len(words) > 0 && words[0].Is("-") {
		words = words[1:]
	}
	for _, o := range p.Options {
		if (o.Name == "-S" || o.Name == "--split-string") && o.Given {
			c.words = slices.Concat(c.words[:1], splitString(w, o.Value, c), words)
			unwrap(w, c, w.know.wrappers["env"]) // they may begin with options
			return
		}
	}
	runWrapped(w, c, wrapper{}, assignmentsBefore(w, words))
}

// splitString returns the words of env -S. Where its rules aren't those of the
// shell, the words aren't known.
func splitString(w *walker, x word.Word, c call) []word.Word {
	if !x.Literal() || strings.ContainsAny(x.Text, ";|&<>()$`\\#*?[]{}~!\n") {
		w.text(x, c)
		w.result.unknown(effect.ReasonScript, c.text)
		return nil
	}
	text := "env " + x.Text
	s := w.load(text)
	if s.err != nil {
		w.result.unknown(effect.ReasonScript, c.text)
		return nil
	}
	var words []word.Word
	for _, stmt := range s.file.Stmts {
		if simple, ok := stmt.Cmd.(*syntax.CallExpr); ok {
			w.within(text, s.id, func() { words = w.words(simple.Args) })
		}
	}
	for i := range words {
		words[i].Braced = true // they aren't in the line as they are
	}
	return words[min(1, len(words)):]
}

// parseSudo finds the command, the files to edit (-e) or a shell (-s, -i).
func parseSudo(w *walker, c call, p word.Parsed) {
	if p.Has("-e --edit") {
		for _, x := range p.Operands {
			w.name(x, true, "argument of sudo -e")
		}
		return
	}
	runWrapped(w, c, wrapper{starts: p.Has("-s -i --shell --login")}, assignmentsBefore(w, p.Operands))
}

// parseSu finds the command of su and runuser: a script with -c, which is read with the options, a
// command with -u, else a shell.
func parseSu(w *walker, c call, p word.Parsed) {
	switch {
	case p.Has("-c --command --session-command"):
	case p.Has("-u --user"):
		runWrapped(w, c, wrapper{}, word.ParseOptions(w.know.wrappers["su"].options, c.args(), true).Operands)
	case len(p.Operands) > 1 && !(len(p.Operands) == 2 && p.Operands[0].Is("-")):
		w.result.unknown(effect.ReasonScript, c.text)
	default:
		shellInput(w, c)
	}
}

// parseSSH finds the command that a shell on another machine runs. Options may
// follow the host too.
func parseSSH(w *walker, c call, p word.Parsed) {
	if len(p.Operands) == 0 {
		return
	}
	p = word.ParseOptions(w.know.wrappers["ssh"].options, p.Operands[1:], true)
	optionEffects(w, p, c)
	remote := w.frame.remote
	w.frame.remote = true
	runWrapped(w, c, wrapper{shell: true, starts: true}, p.Operands)
	w.frame.remote = remote
}

// parseFlock skips the lock, a file or a descriptor.
func parseFlock(w *walker, c call, p word.Parsed) {
	words := p.Operands
	if len(words) == 0 {
		return
	}
	if strings.Trim(words[0].Text, "0123456789") != "" || len(words) > 1 {
		w.name(words[0], true, "argument of flock")
	}
	words = words[1:]
	if len(words) > 1 && (words[0].Is("-c") || words[0].Is("--command")) {
		w.text(words[1], c)
		return
	}
	runWrapped(w, c, wrapper{}, words)
}

// parseScript reports the file to which script writes the output of a command.
func parseScript(w *walker, c call, p word.Parsed) {
	if len(p.Operands) == 0 {
		w.access("typescript", true, "output of script")
	} else {
		w.name(p.Operands[0], true, "argument of script")
	}
	switch {
	case len(p.Operands) > 1:
		runWrapped(w, c, wrapper{}, p.Operands[1:])
	case !p.Has("-c --command"):
		shellInput(w, c)
	}
}

// parseWatch finds the command, which a shell runs unless -x is given.
func parseWatch(w *walker, c call, p word.Parsed) {
	runWrapped(w, c, wrapper{shell: !p.Has("-x --exec")}, p.Operands)
}

// parseXargs finds the command, to which arguments from standard input are added,
// or replace a mark in it.
func parseXargs(w *walker, c call, p word.Parsed) {
	mark := ""
	for _, o := range p.Options {
		switch {
		case o.Name == "-I" || (o.Name == "-i" || o.Name == "--replace") && o.Given:
			mark = o.Value.Text
		case o.Name == "-i" || o.Name == "--replace":
			mark = "{}"
		}
		if mark != "" && o.Given && !o.Value.Literal() {
			w.result.unknown(effect.ReasonCommand, c.text)
		}
	}
	c.more, c.input = mark == "", nil
	if len(p.Operands) == 0 {
		p.Operands = []word.Word{word.Plain("echo")}
	}
	runWrapped(w, c, wrapper{}, word.Substitute(p.Operands, mark, word.Single))
}

// parseParallel finds the command line that a shell reads for each argument.
func parseParallel(w *walker, c call, p word.Parsed) {
	w.result.unknown(effect.ReasonScript, c.text)
	words := p.Operands
	if i := slices.IndexFunc(words, func(x word.Word) bool { return strings.HasPrefix(x.Text, ":::") }); i >= 0 {
		words = words[:i]
	}
	w.text(word.Join(words), c)
}
