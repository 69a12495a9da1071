// Package program knows how programs read their command lines (the table programs.txt), and returns what their arguments
// do. It neither parses command lines nor knows where a command runs.
package program

import (
	"path"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// Effects returns what a program does with its arguments.
func Effects(name string, c effect.Call) []effect.Effect {
	var e effect.List
	k := programTable()
	wrapper, wraps := k.wrappers[name]
	manager, manages := k.managers[name]
	program, known := k.programs[name]
	switch {
	case wraps:
		unwrap(&e, c, wrapper)
	case manages:
		manage(&e, c, manager)
	case known:
		runProgram(&e, c, program)
	default:
		runUnknown(&e, c)
	}
	return e.All
}

// OfOptions returns what a command's options do.
func OfOptions(p word.Parsed, c effect.Call) []effect.Effect {
	var e effect.List
	optionEffects(&e, p, c)
	return e.All
}

// IsShell reports whether a program is a shell, which runs scripts.
func IsShell(name string) bool { return programTable().shells[name] }

// IsKnown reports whether a program has a meaning for the analysis.
func IsKnown(name string) bool {
	k := programTable()
	_, wraps := k.wrappers[name]
	_, manages := k.managers[name]
	_, known := k.programs[name]
	return wraps || manages || known || k.shells[name] || k.dispatchers[name]
}

// runUnknown analyzes a program that is not in the table.
func runUnknown(e *effect.List, c effect.Call) {
	for _, x := range c.Args() {
		if i := x.Wildcard(); i >= 0 && strings.Contains(x.Text[:i], "/") {
			e.Use(x, false, "wildcard")
		}
	}
	if programTable().dispatchers[path.Base(c.Name())] {
		checkSubcommand(e, c)
	}
}

// checkSubcommand reports a subcommand that is only known at run time.
func checkSubcommand(e *effect.List, c effect.Call) {
	for _, x := range c.Args() {
		if !x.Literal() {
			e.Unknown(effect.ReasonCommand)
			return
		}
		if !strings.HasPrefix(x.Text, "-") {
			return
		}
	}
	if c.More {
		e.Unknown(effect.ReasonCommand)
	}
}
