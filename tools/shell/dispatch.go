package shell

import (
	"path"
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
	if isShell(name) {
		runShell(w, c)
		return same(w.at)
	}
	return w.apply(c, programEffects(name, c.asRead()))
}

// hasMeaning reports whether a command has a meaning for the analysis.
func hasMeaning(name string) bool { return builtin(name) != nil || isKnown(name) }
