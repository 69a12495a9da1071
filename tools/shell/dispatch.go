package shell

import (
	"path"

	"github.com/millhand/millhand/tools/shell/program"
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
	if program.IsShell(name) {
		runShell(w, c)
		return same(w.at)
	}
	return w.apply(c, program.Effects(name, c.asRead()))
}

// hasMeaning reports whether a command has a meaning for the analysis.
func hasMeaning(name string) bool { return builtin(name) != nil || program.IsKnown(name) }
