package tasks

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/tasks/problem"
)

// uses is what a load uses of its machine. Directories are only walked for
// [Plan.Inputs], as most plans run where they were loaded.
type uses struct {
	files     map[string]bool   // and directories without what they contain
	trees     map[string]bool   // directories with what they contain, if they exist
	programs  map[string]bool   // absolute as written: of the system
	variables map[string]bool   // by name: whether the load got a value
	home      string            // of the user, which no manifest names
	event     string            // file of the CI's event; "" if it was not read
	list      []byte            // that was read from standard input; nil for none
	root      string            // directory with all that may be read, see [Below]; "" for no limit
	fixed     []problem.Problem // what another machine can't have
	places    map[string]value  // where the repository of a job, or the rollout, is written
}

func newUses() *uses {
	return &uses{files: map[string]bool{}, trees: map[string]bool{}, programs: map[string]bool{}, variables: map[string]bool{}, places: map[string]value{}}
}

// uses returns what the load of the value's file uses; nil if it does not belong to a plan.
func (v value) uses() *uses {
	if v.src.inputs == nil {
		return nil
	}
	return v.src.inputs.uses
}

// beyond reports whether a path is not below the inputs of a queued plan.
func (u *uses) beyond(path string) bool {
	return u != nil && u.root != "" && !pathtree.Within(path, u.root)
}

// recording returns getenv for what manifests name.
func (u *uses) recording(getenv func(string) string) func(string) string {
	return func(name string) string {
		value := getenv(name)
		u.variables[name] = u.variables[name] || value != ""
		return value
	}
}

// variable records a variable whose value the load does not need.
func (u *uses) variable(name string) {
	if u != nil {
		got := u.variables[name]
		u.variables[name] = got // false if it is new
	}
}

// reads records a file or directory.
func (u *uses) reads(path string) {
	if u != nil {
		u.files[path] = true
	}
}

// named records a file or directory that a value names.
func (u *uses) named(v value, path, written string) {
	u.reads(path)
	if isAbs(written) {
		u.fix(v, problem.Quote(written)+" is an absolute path, which workers may not have", "write it relative to the manifest")
	}
}

// listed records a list that was read from standard input.
func (u *uses) listed(data []byte) {
	if u != nil {
		u.list = append([]byte{}, data...)
	}
}

// tree records a path with everything below it. An absolute one is of the system, unless it
// is next to the manifest.
func (u *uses) tree(v value, path, written string) {
	switch {
	case u == nil:
	case !isAbs(written):
		u.trees[path] = true
	case pathtree.Within(path, v.src.dir):
		u.named(v, path, written)
	}
}

// program records a program with a path, as tree does.
func (u *uses) program(v value, path, written string) {
	switch {
	case u == nil:
	case isAbs(written) && !pathtree.Within(path, v.src.dir):
		u.programs[path] = true
	default:
		u.named(v, path, written)
	}
}

// command records a command line with absolute paths next to the manifest.
func (u *uses) command(v value, line string) {
	if dir := v.src.dir + string(filepath.Separator); u != nil && v.src.dir != "" && strings.Contains(line, dir) {
		u.fix(v, v.name+" contains an absolute path, which workers may not have: "+problem.Quote(dir+"..."), "write it relative to the manifest")
	}
}

// key records a file next to the manifest that keys come from. It is a secret, or reads one,
// and is not sent to other machines.
func (u *uses) key(v value, written string) {
	if path := resolvePath(v.src.dir, written); pathtree.Within(path, v.src.dir) || !isAbs(written) {
		u.fix(v, fmt.Sprintf("%s uses the file %s of this machine, and secrets are not sent to workers", v.name, problem.Quote(written)),
			"name an environment variable, a program on the PATH of the workers, or an absolute path of theirs")
	}
}

// keyCommand records the files of a command that prints keys.
func (u *uses) keyCommand(v value, words []string) {
	for i, word := range words {
		if program := strings.Contains(word, "/"); i == 0 && program || i > 0 && isFile(resolvePath(v.src.dir, word)) {
			u.key(v, word)
		}
	}
}

// fix records that a value means something else on other machines, or nothing.
func (u *uses) fix(v value, what, fix string) {
	if u != nil {
		u.fixed = append(u.fixed, v.src.Problem(v.use.Line, v.use.Column, what, fix))
	}
}

// at returns a problem of a job, or of a key of the manifest, with its location if there is one.
func (u *uses) at(of, what, fix string) problem.Problem {
	if u != nil {
		if v := u.places[of]; v.src != nil && v.use != nil {
			return v.src.Problem(v.use.Line, v.use.Column, what, fix)
		}
	}
	return problem.Problem{File: of, What: what, Fix: fix}
}

func isAbs(written string) bool { return filepath.IsAbs(filepath.FromSlash(written)) }
