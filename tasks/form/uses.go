package form

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/problem"
)

// Uses is what a load uses of its machine. Directories are only walked for
// tasks.Plan.Inputs, as most plans run where they were loaded.
type Uses struct {
	Files     map[string]bool   // and directories without what they contain
	Trees     map[string]bool   // directories with what they contain, if they exist
	Programs  map[string]bool   // absolute as written: of the system
	Variables map[string]bool   // by name: whether the load got a value
	Home      string            // of the user, which no manifest names
	Event     string            // file of the CI's event; "" if it was not read
	List      []byte            // that was read from standard input; nil for none
	Root      string            // directory with all that may be read, see [Below]; "" for no limit
	Fixed     []problem.Problem // what another machine can't have
	Places    map[string]Value  // where the repository of a job, or the rollout, is written
}

// NewUses returns the record of a load that has used nothing yet.
func NewUses() *Uses {
	return &Uses{Files: map[string]bool{}, Trees: map[string]bool{}, Programs: map[string]bool{}, Variables: map[string]bool{}, Places: map[string]Value{}}
}

// Beyond reports whether a path is not below the inputs of a queued plan.
func (u *Uses) Beyond(path string) bool {
	return u != nil && u.Root != "" && !pathtree.Within(path, u.Root)
}

// Recording returns getenv for what manifests name.
func (u *Uses) Recording(getenv func(string) string) func(string) string {
	return func(name string) string {
		value := getenv(name)
		u.Variables[name] = u.Variables[name] || value != ""
		return value
	}
}

// Variable records a variable whose value the load does not need.
func (u *Uses) Variable(name string) {
	if u != nil {
		got := u.Variables[name]
		u.Variables[name] = got // false if it is new
	}
}

// Reads records a file or directory.
func (u *Uses) Reads(path string) {
	if u != nil {
		u.Files[path] = true
	}
}

// Named records a file or directory that a value names.
func (u *Uses) Named(v Value, path, written string) {
	u.Reads(path)
	if isAbs(written) {
		u.fix(v, problem.Quote(written)+" is an absolute path, which workers may not have", "write it relative to the manifest")
	}
}

// Listed records a list that was read from standard input.
func (u *Uses) Listed(data []byte) {
	if u != nil {
		u.List = append([]byte{}, data...)
	}
}

// Tree records a path with everything below it. An absolute one is of the system, unless it
// is next to the manifest.
func (u *Uses) Tree(v Value, path, written string) {
	switch {
	case u == nil:
	case !isAbs(written):
		u.Trees[path] = true
	case pathtree.Within(path, v.Src.Dir):
		u.Named(v, path, written)
	}
}

// Program records a program with a path, as tree does.
func (u *Uses) Program(v Value, path, written string) {
	switch {
	case u == nil:
	case isAbs(written) && !pathtree.Within(path, v.Src.Dir):
		u.Programs[path] = true
	default:
		u.Named(v, path, written)
	}
}

// Command records a command line with absolute paths next to the manifest.
func (u *Uses) Command(v Value, line string) {
	if dir := v.Src.Dir + string(filepath.Separator); u != nil && v.Src.Dir != "" && strings.Contains(line, dir) {
		u.fix(v, v.Label+" contains an absolute path, which workers may not have: "+problem.Quote(dir+"..."), "write it relative to the manifest")
	}
}

// Key records a file next to the manifest that keys come from. It is a secret, or reads one,
// and is not sent to other machines.
func (u *Uses) Key(v Value, written string) {
	if path := userfile.Resolve(v.Src.Dir, written); pathtree.Within(path, v.Src.Dir) || !isAbs(written) {
		u.fix(v, fmt.Sprintf("%s uses the file %s of this machine, and secrets are not sent to workers", v.Label, problem.Quote(written)),
			"name an environment variable, a program on the PATH of the workers, or an absolute path of theirs")
	}
}

// KeyCommand records the files of a command that prints keys.
func (u *Uses) KeyCommand(v Value, words []string) {
	for i, word := range words {
		if program := strings.Contains(word, "/"); i == 0 && program || i > 0 && userfile.IsFile(userfile.Resolve(v.Src.Dir, word)) {
			u.Key(v, word)
		}
	}
}

// fix records that a value means something else on other machines, or nothing.
func (u *Uses) fix(v Value, what, fix string) {
	if u != nil {
		u.Fixed = append(u.Fixed, v.Src.Problem(v.Use.Line, v.Use.Column, what, fix))
	}
}

// At returns a problem of a job, or of a key of the manifest, with its location if there is one.
func (u *Uses) At(of, what, fix string) problem.Problem {
	if u != nil {
		if v := u.Places[of]; v.Src != nil && v.Use != nil {
			return v.Src.Problem(v.Use.Line, v.Use.Column, what, fix)
		}
	}
	return problem.Problem{File: of, What: what, Fix: fix}
}

func isAbs(written string) bool { return filepath.IsAbs(filepath.FromSlash(written)) }
