package shell

import (
	"fmt"

	"github.com/millhand/millhand/tools/shell/effect"
)

// MaxLine is the maximum size of a line, and of each script in it, in bytes.
const MaxLine = 64 << 10

// The bounds of an analysis. A line beyond any of them is an error, so that it
// is not run, whatever it holds.
const (
	maxScripts  = 32      // scripts within scripts, as by bash -c
	maxCommands = 1000    // commands found
	maxSteps    = 100_000 // statements and words visited, repeated visits counted
	maxDepth    = 2000    // statements within statements
	maxNesting  = 1000    // brackets within brackets, before parsing
	maxWords    = 4096    // words of one command after brace expansion
)

// Analysis is what a line can do.
type Analysis struct {
	Commands []Command // every simple command that the line can run, wrapped ones too, in source order
	Accesses []Access  // files that the line names in a way that reads or writes them
	Unknown  []Unknown // what can't be known before running
	Moves    bool      // the line uses cd
}

// Command is a simple command. The builtin cd and calls of functions that the
// line defines are not reported as commands: their effects are.
type Command struct {
	// Text is the source as written, with the command's redirections but
	// without the bodies of here-documents.
	Text string
	// Plain is the command with its quotes resolved and its words joined by
	// single spaces. Assignments before it, redirections, the system directory
	// of a program (/usr/bin/) and git's options before the subcommand are
	// left out. What is only known at run time stands as in the source.
	Plain string
	// Open is Plain with a NUL instead of each substring that is only known when
	// it runs, words that data adds included; "" if all is known.
	Open string
	// Program is the first word of Plain.
	Program string
	// Inner is set if a package manager or the like runs the command. The outer
	// command ("npx eslint") is reported too. An inner command may also be a
	// script of the project with that name.
	Inner bool
}

// Access is a file or directory that the line names.
type Access struct {
	// Path is the name as the shell would pass it on, quotes resolved. It is
	// absolute, relative to Dir, or starts with "~" ("~/x" and $HOME/x are
	// both "~/x"; "~name/x" is the home of a user). A name with wildcards is
	// represented by the directory in which the first one is looked for.
	Path string
	// Dir is where the line has changed to when it uses the name: "" is where
	// it starts, otherwise relative to that, absolute, or starting with "~".
	// Neither Dir nor Path may be cleaned before symlinks are resolved, as ".."
	// after a symlink is the parent of its target.
	Dir string
	// Write is set if the file may be created, changed or removed.
	Write bool
	// Why is what names it: "redirection", "argument of rm", "-o of sort".
	Why string
}

// Unknown is something that can't be known before running.
type Unknown struct {
	Text   string // the source of it
	Reason effect.Reason
	Write  bool // with effect.ReasonPath: the file may be created, changed or removed
}

// Analyze parses a command line and reports what it can do. An error means
// that it is not valid bash or is beyond the bounds of the analysis: callers
// must not run it. Its text quotes little of the line.
func Analyze(line string) (a Analysis, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = Analysis{}, fmt.Errorf("analyze command line: %v", p)
		}
	}()
	w := newWalker()
	w.line(line)
	if w.result.err != nil {
		return Analysis{}, w.result.err
	}
	return w.result.analysis(), nil
}
