package program

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/word"
)

// Decides reports whether a variable decides what a later command runs, or
// how its words are read.
func Decides(name string) bool {
	k := programTable()
	return !k.harmlessVariables[name] && k.variables.has(name) || startsProgram(name)
}

// DecidesWith is decides for a variable that is set to a value.
func DecidesWith(name string, value word.Word) bool {
	return Decides(name) && (!startsProgram(name) || !harmless(value)) || injects(name, value)
}

// injects reports whether a variable adds options to a program that make it run
// another, or load code. Such a variable may hold harmless options as well.
func injects(name string, value word.Word) bool {
	var words []string
	switch name {
	case "GOFLAGS":
		words = []string{"exec", "vettool", "overlay", "modfile"}
	case "NODE_OPTIONS":
		words = []string{"-r", "import", "loader"}
	case "MAKEFLAGS", "GNUMAKEFLAGS":
		words = []string{"eval", "SHELL", "-E"}
	case "PERL5OPT", "PERL5DB", "RUBYOPT", "PYTHONSTARTUP", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC", "npm_config_script_shell", "NPM_CONFIG_SCRIPT_SHELL":
		return true
	}
	return words != nil && (!value.Literal() || slices.ContainsFunc(words, func(s string) bool { return strings.Contains(value.Text, s) }))
}

// startsProgram reports whether the value of a variable is a command.
func startsProgram(name string) bool {
	return strings.HasSuffix(name, "PAGER") || strings.HasSuffix(name, "EDITOR") || name == "VISUAL"
}

// harmless reports whether a command that such a variable names only copies its
// input.
func harmless(command word.Word) bool {
	if !command.Literal() {
		return false
	}
	switch command.Text {
	case "", "cat", "true", ":":
		return true
	}
	return false
}
