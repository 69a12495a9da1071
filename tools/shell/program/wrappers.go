package program

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// wrapper describes how a program that runs another finds it on its command line.
// An option that isn't described makes the command unknown.
type wrapper struct {
	options string                                             // in the notation of package word
	before  string                                             // operands before the command: "-" not a file, "<" a file that is read, ">" one that is written
	idle    string                                             // options with which it runs nothing
	assigns bool                                               // assignments may precede the command
	shell   bool                                               // the command's words are joined and given to a shell
	each    bool                                               // every operand is a script
	starts  bool                                               // without a command a shell is started
	inShell bool                                               // builtins of this shell are run as such
	permute bool                                               // options may follow operands
	code    func(e *effect.List, c effect.Call, p word.Parsed) // a parser of its own that finds the command
}

// unwrap analyzes the command that a program runs.
func unwrap(e *effect.List, c effect.Call, r wrapper) {
	p := word.ParseOptions(r.options, c.Args(), !r.permute)
	for _, o := range p.Options {
		if !o.Known && strings.Trim(o.Name, "-0123456789") != "" {
			e.Unknown(effect.ReasonOption)
		}
	}
	optionEffects(e, p, c)
	enterOptions(e, p)
	switch {
	case p.Has(r.idle):
	case r.code != nil:
		r.code(e, c, p)
	default:
		runWrapped(e, c, r, operandsBefore(e, r, p.Operands, c))
	}
}

// enterOptions changes to the directories that options name.
func enterOptions(e *effect.List, p word.Parsed) {
	for _, o := range p.Options {
		if o.Mark == word.MarkEnters && o.Given {
			e.Enter(o.Value)
		}
	}
}

// operandsBefore skips the operands and assignments before a command.
func operandsBefore(e *effect.List, r wrapper, words []word.Word, c effect.Call) []word.Word {
	for _, use := range r.before {
		if len(words) == 0 {
			return nil
		}
		if use != '-' {
			e.Use(words[0], use == '>', "argument of "+c.Name())
		}
		words = words[1:]
	}
	if r.assigns {
		return assignmentsBefore(e, words)
	}
	return words
}

// assignmentsBefore skips the assignments before a command.
func assignmentsBefore(e *effect.List, words []word.Word) []word.Word {
	for len(words) > 0 {
		if _, _, ok := words[0].Cut("="); !ok {
			break
		}
		e.Assign(words[0])
		words = words[1:]
	}
	return words
}

// runWrapped analyzes the words of the command that c runs.
func runWrapped(e *effect.List, c effect.Call, r wrapper, words []word.Word) {
	switch {
	case len(words) == 0 && r.starts:
		e.RunInput()
	case len(words) == 0:
		if c.More {
			e.Unknown(effect.ReasonCommand)
		}
	case r.each:
		for _, x := range words {
			e.RunText(x)
		}
	case r.shell:
		e.RunText(word.Join(words))
	default:
		c.Words = words
		e.Run(c, r.inShell)
	}
}

// parseEnv finds the command after assignments; -S splits a string into words.
func parseEnv(e *effect.List, c effect.Call, p word.Parsed) {
	words := p.Operands
	if len(words) > 0 && words[0].Is("-") {
		words = words[1:]
	}
	for _, o := range p.Options {
		if (o.Name == "-S" || o.Name == "--split-string") && o.Given {
			e.Split(o.Value, words)
			return
		}
	}
	runWrapped(e, c, wrapper{}, assignmentsBefore(e, words))
}

// parseSudo finds the command, the files to edit (-e) or a shell (-s, -i).
func parseSudo(e *effect.List, c effect.Call, p word.Parsed) {
	if p.Has("-e --edit") {
		for _, x := range p.Operands {
			e.Use(x, true, "argument of sudo -e")
		}
		return
	}
	runWrapped(e, c, wrapper{starts: p.Has("-s -i --shell --login")}, assignmentsBefore(e, p.Operands))
}

// parseSu finds the command of su and runuser: a script with -c, which is read with the options, a
// command with -u, else a shell.
func parseSu(e *effect.List, c effect.Call, p word.Parsed) {
	switch {
	case p.Has("-c --command --session-command"):
	case p.Has("-u --user"):
		runWrapped(e, c, wrapper{}, word.ParseOptions(programTable().wrappers["su"].options, c.Args(), true).Operands)
	case len(p.Operands) > 1 && !(len(p.Operands) == 2 && p.Operands[0].Is("-")):
		e.Unknown(effect.ReasonScript)
	default:
		e.RunInput()
	}
}

// parseSSH finds the command that a shell on another machine runs. Options may
// follow the host too.
func parseSSH(e *effect.List, c effect.Call, p word.Parsed) {
	if len(p.Operands) == 0 {
		return
	}
	p = word.ParseOptions(programTable().wrappers["ssh"].options, p.Operands[1:], true)
	optionEffects(e, p, c)
	e.Remote()
	runWrapped(e, c, wrapper{shell: true, starts: true}, p.Operands)
}

// parseFlock skips the lock, a file or a descriptor.
func parseFlock(e *effect.List, c effect.Call, p word.Parsed) {
	words := p.Operands
	if len(words) == 0 {
		return
	}
	if strings.Trim(words[0].Text, "0123456789") != "" || len(words) > 1 {
		e.Use(words[0], true, "argument of flock")
	}
	words = words[1:]
	if len(words) > 1 && (words[0].Is("-c") || words[0].Is("--command")) {
		e.RunText(words[1])
		return
	}
	runWrapped(e, c, wrapper{}, words)
}

// parseScript reports the file to which script writes the output of a command.
func parseScript(e *effect.List, c effect.Call, p word.Parsed) {
	if len(p.Operands) == 0 {
		e.UsePath("typescript", true, "output of script")
	} else {
		e.Use(p.Operands[0], true, "argument of script")
	}
	switch {
	case len(p.Operands) > 1:
		runWrapped(e, c, wrapper{}, p.Operands[1:])
	case !p.Has("-c --command"):
		e.RunInput()
	}
}

// parseWatch finds the command, which a shell runs unless -x is given.
func parseWatch(e *effect.List, c effect.Call, p word.Parsed) {
	runWrapped(e, c, wrapper{shell: !p.Has("-x --exec")}, p.Operands)
}

// parseXargs finds the command, to which arguments from standard input are added,
// or replace a mark in it.
func parseXargs(e *effect.List, c effect.Call, p word.Parsed) {
	mark := ""
	for _, o := range p.Options {
		switch {
		case o.Name == "-I" || (o.Name == "-i" || o.Name == "--replace") && o.Given:
			mark = o.Value.Text
		case o.Name == "-i" || o.Name == "--replace":
			mark = "{}"
		}
		if mark != "" && o.Given && !o.Value.Literal() {
			e.Unknown(effect.ReasonCommand)
		}
	}
	c.More, c.NoInput = mark == "", true
	if len(p.Operands) == 0 {
		p.Operands = []word.Word{word.Plain("echo")}
	}
	runWrapped(e, c, wrapper{}, word.Substitute(p.Operands, mark, word.Single))
}

// parseParallel finds the command line that a shell reads for each argument.
func parseParallel(e *effect.List, _ effect.Call, p word.Parsed) {
	e.Unknown(effect.ReasonScript)
	words := p.Operands
	if i := slices.IndexFunc(words, func(x word.Word) bool { return strings.HasPrefix(x.Text, ":::") }); i >= 0 {
		words = words[:i]
	}
	e.RunText(word.Join(words))
}
