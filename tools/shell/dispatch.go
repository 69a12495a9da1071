package shell

import (
	"path"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
)

// effects analyzes what a command does with its arguments.
func (w *walker) effects(name string, c call) outcome {
	if c.shell {
		if do := builtin(name); do != nil {
			return do(w, c)
		}
	}
	w.execute(c)
	name = path.Base(name) // of a program outside of the system directories: what it seems to be
	wrapper, wraps := w.know.wrappers[name]
	manager, manages := w.know.managers[name]
	program, known := w.know.programs[name]
	switch {
	case wraps:
		return unwrap(w, c, wrapper)
	case manages:
		manage(w, c, manager)
	case w.know.shells[name]:
		runShell(w, c)
	case known:
		runProgram(w, c, program)
	default:
		runUnknown(w, c)
	}
	return same(w.at)
}

// has reports whether a program has a meaning for the analysis.
func (k knowledge) has(name string) bool {
	_, wraps := k.wrappers[name]
	_, manages := k.managers[name]
	_, known := k.programs[name]
	return wraps || manages || known || k.shells[name] || builtin(name) != nil || k.dispatchers[name]
}

// runUnknown analyzes a program that is not in the table.
func runUnknown(w *walker, c call) {
	for _, x := range c.args() {
		if i := x.Wildcard(); i >= 0 && strings.Contains(x.Text[:i], "/") {
			w.name(x, false, "wildcard")
		}
	}
	if w.know.dispatchers[path.Base(c.words[0].Text)] {
		checkSubcommand(w, c)
	}
}

// checkSubcommand reports a subcommand that is only known at run time.
func checkSubcommand(w *walker, c call) {
	for _, x := range c.args() {
		if !x.Literal() {
			w.result.unknown(effect.ReasonCommand, c.text)
			return
		}
		if !strings.HasPrefix(x.Text, "-") {
			return
		}
	}
	if c.more {
		w.result.unknown(effect.ReasonCommand, c.text)
	}
}
