package shell

import (
	"path"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
)

// programEffects returns what a program does with its arguments.
func programEffects(name string, c effect.Call) []effect.Effect {
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

// has reports whether a program has a meaning for the analysis.
func (k knowledge) has(name string) bool {
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
