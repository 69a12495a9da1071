package shell

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// builtin returns what a builtin of the shell does beyond printing, or nil. A builtin that also exists as a
// program, such as printf, is found here only when the shell runs it.
func builtin(name string) func(*walker, call) outcome {
	switch name {
	case "cd", "pushd":
		return changeDir
	case "popd":
		return popDir
	case "eval":
		return evalWords
	case "source", ".":
		return sourceFile
	case "trap":
		return setTrap
	case "exit":
		return exitShell
	case "return", "break", "continue":
		return leaveBlock
	case "alias":
		return defineAlias
	case "set", "shopt":
		return shellOptions
	case "export", "declare", "typeset", "local", "readonly":
		return declareWords
	case "read", "mapfile", "readarray", "getopts", "unset", "wait", "printf":
		return assignNames
	case "let", "test", "[":
		return evaluateWords
	case "enable", "hash", "complete", "compgen", "compopt", "bind", "fc":
		return opaqueBuiltin
	case "history":
		return historyFiles
	}
	return nil
}

// changeDir is cd and pushd.
func changeDir(w *walker, c call) outcome {
	before, name := w.at, c.words[0].Text
	p := word.ParseOptions("-L -P -e -@ -n", c.args(), true)
	if len(p.Operands) == 0 {
		if name == "pushd" {
			return same(w.all)
		}
		w.access("~", false, "argument of cd")
		return outcome{ok: before.enter("~"), bad: before}
	}
	x := p.Operands[0]
	if x.Is("-") || name == "pushd" && (strings.HasPrefix(x.Text, "+") || p.Has("-0 -1 -2 -3 -4 -5 -6 -7 -8 -9")) {
		return outcome{ok: w.all, bad: before}
	}
	w.name(x, false, "argument of "+name)
	target, known := word.Home(x)
	if !known || x.Wildcard() >= 0 || p.Has("-P") || p.Has("-n") {
		return outcome{ok: places{anywhere: true}, bad: before}
	}
	return outcome{ok: before.enter(word.Spelled(target)), bad: before}
}

// popDir returns to a directory where the shell has been.
func popDir(w *walker, _ call) outcome { return outcome{ok: w.all, bad: w.at} }

// evalWords runs the arguments of eval as a script.
func evalWords(w *walker, c call) outcome {
	args := c.args()
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	return runInShell(w, word.Join(args), c)
}

// runInShell walks text that this shell itself runs.
func runInShell(w *walker, x word.Word, c call) outcome {
	out := w.textIn(x, c, true)
	if !x.Literal() {
		w.funcs.defined = map[string]bool{}
	}
	return out
}

// sourceFile runs a file in the shell itself.
func sourceFile(w *walker, c call) outcome {
	w.result.unknown(effect.ReasonFile, c.text)
	w.funcs.defined = map[string]bool{}
	args := c.args()
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	if len(args) > 0 {
		w.name(args[0], false, "argument of source")
	}
	return same(places{anywhere: true})
}

// setTrap analyzes a trap's command now, and keeps it for the end, when the
// shell may be in another directory. If the command itself changes that, the
// shell can be anywhere from now on.
func setTrap(w *walker, c call) outcome {
	p := word.ParseOptions("-l -p -P", c.args(), true)
	if p.Has("-l -p -P") || len(p.Operands) < 2 {
		return same(w.at)
	}
	x := p.Operands[0]
	if x.Is("-") || x.Literal() && x.Text != "" && strings.Trim(x.Text, "0123456789") == "" {
		return same(w.at) // signals to be reset
	}
	var out outcome
	w.isolated(func() { out = w.textIn(x, c, true) })
	known := slices.ContainsFunc(w.traps, func(t trap) bool { return t.text == x.Text })
	if s := w.scripts[x.Text]; !known && s != nil && s.err == nil {
		w.traps = append(w.traps, trap{x.Text, w.frame.base})
	}
	atEnd := !slices.ContainsFunc(p.Operands[1:], func(s word.Word) bool { return !s.Is("EXIT") && !s.Is("0") })
	if atEnd || w.at.or(out.either()).equal(w.at) {
		return same(w.at)
	}
	return same(places{anywhere: true})
}

// exitShell ends the shell, unless it has more than one argument.
func exitShell(w *walker, c call) outcome {
	if len(c.words) > 2 || len(c.words) == 2 && strings.ContainsAny(c.words[1].Kinds, "*bg") && !c.words[1].Fixed() {
		return same(w.at)
	}
	return outcome{}
}

// leaveBlock leaves a function or loop.
func leaveBlock(w *walker, c call) outcome {
	w.jumps = w.jumps.or(w.at)
	if c.words[0].Text == "return" && w.funcs.returns {
		return outcome{}
	}
	return same(w.at)
}

func defineAlias(w *walker, c call) outcome {
	for _, x := range c.args() {
		if x.Literal() && !strings.Contains(x.Text, "=") {
			continue // shows an alias
		}
		w.result.unknown(effect.ReasonAlias, c.text)
		if _, text, ok := x.Cut("="); ok {
			w.text(text, c)
		}
	}
	return same(w.at)
}

// shellOptions is set and shopt: some options change where cd leads or in
// which shell a pipe's last command runs.
func shellOptions(w *walker, c call) outcome {
	for _, x := range c.args() {
		w.data(x)
		switch {
		case x.Is("lastpipe") || x.Is("cdable_vars") || x.Is("expand_aliases") || x.Is("physical") || x.Is("posix"):
			w.result.unknown(effect.ReasonSetting, c.text)
		case c.words[0].Text == "set" && x.Starts("-") && strings.Contains(x.Text, "P") && !strings.HasPrefix(x.Text, "--"):
			w.result.unknown(effect.ReasonSetting, c.text)
		case c.words[0].Text == "shopt" && !x.Literal():
			w.result.unknown(effect.ReasonSetting, c.text)
		}
	}
	return same(w.at)
}

// declareWords is export and the like when a quoted or wrapped name hides it
// from the parser.
func declareWords(w *walker, c call) outcome {
	for _, x := range c.args() {
		if x.Literal() && !strings.HasPrefix(x.Text, "-") && !strings.Contains(x.Text, "=") {
			continue
		}
		declareWord(w, c.words[0].Text, x)
	}
	return same(w.at)
}

// assignNames analyzes the variables that a builtin sets.
func assignNames(w *walker, c call) outcome {
	name := c.words[0].Text
	p := word.ParseOptions(assigningOptions(name), c.args(), true)
	names := p.Operands
	switch {
	case name == "unset" && !p.Has("-v"):
		for _, x := range names {
			if x.Literal() {
				delete(w.funcs.defined, x.Text)
				continue
			}
			w.funcs.defined = map[string]bool{}
		}
	case name == "printf" || name == "wait":
		names = nil
	case name == "getopts":
		names = names[min(1, len(names)):min(2, len(names))]
	}
	for _, o := range p.Options {
		if o.Mark == word.MarkAssigns && o.Given {
			names = append(names, o.Value)
		}
	}
	for _, x := range names {
		changeNamed(w, x)
	}
	w.options(c, word.Parsed{Options: p.Options})
	return same(w.at)
}

// assigningOptions describes the options of the builtins that set variables.
func assigningOptions(name string) string {
	switch name {
	case "read":
		return "-a= -d: -e -i: -n: -N: -p: -r -s -t: -u:"
	case "mapfile", "readarray":
		return "-d: -n: -O: -s: -t -u: -C! -c:"
	case "printf":
		return "-v="
	case "wait":
		return "-f -n -p="
	}
	return "-f -v -n"
}

// evaluateWords analyzes operands that may be taken as numbers or variables.
func evaluateWords(w *walker, c call) outcome {
	for _, x := range c.args() {
		w.data(x)
		w.computes = w.computes || c.words[0].Text == "let" || x.Is("-v") || x.Is("-R")
		if c.words[0].Text == "let" {
			changeNamed(w, x)
		}
	}
	return same(w.at)
}

// opaqueBuiltin reports builtins that change what names mean or run text, when
// they are given anything to do so.
func opaqueBuiltin(w *walker, c call) outcome {
	for _, x := range c.args() {
		if !x.Is("-r") && (c.words[0].Text != "hash" || !x.Literal() || strings.HasPrefix(x.Text, "-")) {
			w.result.unknown(effect.ReasonSetting, c.text)
		}
	}
	return same(w.at)
}

// historyFiles can read and write files.
func historyFiles(w *walker, c call) outcome {
	p := word.ParseOptions("-c -d: -a> -n< -r< -w> -p -s", c.args(), true)
	w.options(c, p)
	return same(w.at)
}
