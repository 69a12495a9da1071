package manifest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// maxFiles is the maximum number of files and directories that a glob of instructions visits.
const maxFiles = 1_000_000

var instructionForm = form.Of[[]tasks.Instruction]{Type: form.Type{Name: "string"}, Read: readInstruction}

// readInstruction reads a file of instructions, or all that a pattern matches, in
// the order of their names. An @ before the path, as prompts have it, means the
// same.
func readInstruction(v form.Value) ([]tasks.Instruction, bool) {
	t, ok := v.Filled()
	if !ok {
		return nil, false
	}
	path := t.S
	if !userfile.IsFile(userfile.Resolve(v.Src.Dir, path)) {
		path = strings.TrimPrefix(path, "@")
	}
	if userfile.IsFile(userfile.Resolve(v.Src.Dir, path)) || !strings.ContainsAny(path, "*?[{") {
		one, ok := readInstructionFile(v, path)
		return []tasks.Instruction{one}, ok
	}
	found, ok := t.Search("glob", filepath.ToSlash(path), pathglob.Search{Files: true, Hidden: true, Limit: maxFiles})
	switch {
	case !ok:
		return nil, false
	case len(found) == 0: // as in OpenCode: the files may come later
		v.Src.Found.Note(fmt.Sprintf("%s: no file matches %s, which is relative to the manifest", v.Position(), problem.Quote(t.S)))
	case len(found) > form.MaxCommands:
		v.Problem(fmt.Sprintf("%s matches more than %d files", problem.Quote(t.S), form.MaxCommands), "name the files that every session needs")
		return nil, false
	}
	var all []tasks.Instruction
	for _, file := range found {
		if v.Outside(userfile.Resolve(v.Src.Dir, file), t.S) { // not by its name, which is nobody's business
			return nil, false
		}
		one, valid := readInstructionFile(v, file)
		if ok = ok && valid; valid {
			all = append(all, one)
		}
	}
	return all, ok
}

func readInstructionFile(v form.Value, path string) (tasks.Instruction, bool) {
	if v.Outside(userfile.Resolve(v.Src.Dir, path), path) {
		return tasks.Instruction{}, false
	}
	v.Uses().Named(v, userfile.Resolve(v.Src.Dir, path), path)
	data, err := userfile.ReadRegular(userfile.Resolve(v.Src.Dir, path), form.MaxFile)
	switch {
	case err != nil:
		v.Problem(fmt.Sprintf("%s: %s", problem.Quote(path), userfile.Missing(err)), "check its path; it is relative to the manifest")
	case !utf8.Valid(data):
		v.Problem(fmt.Sprintf("%s is not UTF-8 text", problem.Quote(path)), "save it as UTF-8")
	default:
		return tasks.Instruction{Path: path, Text: string(data)}, true
	}
	return tasks.Instruction{}, false
}

// maxInstructions bounds the instructions of a manifest, in bytes: every request
// of every session carries them.
const maxInstructions = 4 << 20

// onlyOnce drops files that are named twice, by two patterns for example.
func onlyOnce(v form.Value, all []tasks.Instruction) []tasks.Instruction {
	var once []tasks.Instruction
	size := 0
	for _, i := range all {
		if slices.ContainsFunc(once, func(o tasks.Instruction) bool { return o.Path == i.Path }) {
			continue
		}
		size += len(i.Text)
		once = append(once, i)
	}
	if size > maxInstructions {
		v.Problem(fmt.Sprintf("the instructions exceed %d MiB", maxInstructions>>20), "every request carries them: shorten them")
	}
	return once
}
