package shell

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/program"

	"mvdan.cc/sh/v3/syntax"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// asRead returns the call as the readers of programs get it.
func (c call) asRead() effect.Call { return effect.Call{Words: c.words, More: c.more} }

// apply walks the effects of a call in their order. The directories that it enters count for what follows among them.
func (w *walker) apply(c call, effects []effect.Effect) outcome {
	before, remote := w.at, w.frame.remote
	out := same(before)
	for _, e := range effects {
		w.frame.remote = remote || e.Remote
		if e.Packaged {
			w.frame.inside++
		}
		if ran := w.applyOne(c, e, before); e.Builtins && c.shell {
			out = ran
		}
		if e.Packaged {
			w.frame.inside--
		}
	}
	w.at, w.frame.remote = before, remote
	return out
}

// applyOne walks one effect, and returns where a command leaves the shell that runs it.
func (w *walker) applyOne(c call, e effect.Effect, first places) outcome {
	switch e.Kind {
	case effect.Uses:
		at := w.at
		if e.First {
			w.at = first
		}
		w.name(e.Word, e.Write, e.Why)
		w.at = at
	case effect.UsesPath:
		w.access(e.Text, e.Write, e.Why)
	case effect.Unknown:
		w.result.unknown(e.Reason, c.text)
	case effect.UnknownPath:
		text := e.Text
		if text == "" {
			text = c.text
		}
		w.result.unknownPath(text, e.Write)
	case effect.Enters:
		w.enter(e.Word)
	case effect.Assigns:
		changeNamed(w, e.Word)
	case effect.RunsText:
		w.text(e.Word, c)
	case effect.RunsInput:
		shellInput(w, c)
	case effect.Runs:
		return w.run(c, e)
	case effect.Splits:
		c.words = slices.Concat(c.words[:1], splitString(w, e.Word, c), e.Call.Words)
		w.apply(c, program.Effects("env", c.asRead())) // they may begin with options
	}
	return same(w.at)
}

// options walks what the options of a builtin do.
func (w *walker) options(c call, p word.Parsed) {
	w.apply(c, program.OfOptions(p, c.asRead()))
}

// enter changes the directory for what follows.
func (w *walker) enter(x word.Word) {
	x, known := word.Home(x)
	if !known || x.Wildcard() >= 0 {
		w.at = places{anywhere: true}
		return
	}
	w.at = w.at.enter(word.Spelled(x))
}

// run walks a command that another runs, for the files below some directories if that is so: where the search starts,
// or in those directories themselves.
func (w *walker) run(c call, e effect.Effect) outcome {
	inner := call{words: e.Call.Words, text: w.frame.textOf(e.Call.Words), more: e.Call.More, input: c.input, shell: e.Builtins && c.shell}
	if e.Call.NoInput {
		inner.input = nil
	}
	if e.Matches == nil {
		return w.invoke(inner)
	}
	at, matches := w.at, w.matches
	w.matches = e.Matches
	if e.InMatches {
		var reached places
		for _, dir := range e.Matches {
			w.at = at
			w.enter(dir)
			reached = reached.or(w.at)
		}
		w.at, w.matches = reached, []word.Word{word.Plain(".")}
	}
	out := w.invoke(inner)
	w.at, w.matches = at, matches
	return out
}

// text walks text that a new shell would run. If it isn't known completely, what
// can be read of it is reported all the same.
func (w *walker) text(x word.Word, c call) {
	w.textIn(x, c, false)
}

func (w *walker) textIn(x word.Word, c call, sameShell bool) outcome {
	if x.Literal() {
		return w.script(x.Text, sameShell)
	}
	w.result.unknown(effect.ReasonScript, c.text)
	if _, err := parse(x.Text); err == nil {
		w.script(x.Text, sameShell)
	}
	return same(places{anywhere: true})
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
