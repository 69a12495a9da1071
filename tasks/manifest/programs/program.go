package programs

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Command is a command line as it is run, and as it is written.
type Command struct{ Args, Written []string }

// Program is the form of a command that is written as a shell command or a list.
var Program = form.Of[Command]{Type: form.ScalarType().ListOr(), Read: readProgram}

// Argv is the form of a command that is a list.
var Argv = form.Of[Command]{Type: form.Type{Name: "list", Elem: new(form.ScalarType())}, Read: readArgv}

// readProgram reads a shell command, or a program and its arguments. A program
// with a path is relative to the manifest; one without is looked up in PATH.
func readProgram(v form.Value) (Command, bool) {
	if !v.IsList() {
		line, ok := readPlain(v)
		return Command{[]string{"bash", "-c", line}, []string{line}}, ok
	}
	words, _ := form.UpTo(form.MaxCommands, form.ListOf(form.Of[string]{Read: readPlain})).Read(v)
	if len(v.Node.Content) == 0 {
		v.Problem(v.Label+" is empty", "write a program and its arguments")
	}
	written := slices.Concat([]string{""}, words)
	if len(words) == 0 || len(words) != len(v.Node.Content) || !strings.Contains(words[0], "/") {
		return Command{words, written}, true
	}
	path := userfile.Resolve(v.Src.Dir, words[0])
	if v.Outside(path, words[0]) {
		return Command{}, false
	}
	v.Uses().Program(v, path, words[0])
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		v.Problem(fmt.Sprintf("program %s: %s", problem.Quote(words[0]), userfile.Missing(err)), "check its path; it is relative to the manifest")
	} else if info.Mode().Perm()&0o111 == 0 {
		v.Problem(fmt.Sprintf("program %s is not executable", problem.Quote(words[0])), "run chmod +x, or name its interpreter first")
	}
	return Command{slices.Concat([]string{path}, words[1:]), written}, true
}

// readArgv reads a program and its arguments.
func readArgv(v form.Value) (Command, bool) {
	if !v.IsList() {
		v.Problem(v.Label+" must be a list", "write a program and its arguments, such as [gcloud, auth, print-access-token]")
		return Command{}, false
	}
	return readProgram(v)
}

// readPlain reads a word of a command that is the same in every job.
func readPlain(v form.Value) (string, bool) {
	t, ok := v.Scalar()
	v.Uses().Command(v, t.S)
	switch {
	case !ok:
	case strings.Contains(t.S, form.Opening):
		v.Problem(v.Label+" must not contain variables", "write a fixed command; tools and hooks read JSON from standard input")
		return "", false
	case strings.ContainsRune(t.S, 0):
		v.Problem(v.Label+" contains a NUL byte", "remove it")
		return "", false
	}
	return t.S, ok
}
