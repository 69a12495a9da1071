package tasks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/tasks/problem"
)

var instructionForm = form[[]Instruction]{Type{Name: "string"}, readInstruction}

// readInstruction reads a file of instructions, or all that a pattern matches, in
// the order of their names. An @ before the path, as prompts have it, means the
// same.
func readInstruction(v value) ([]Instruction, bool) {
	t, ok := v.filled()
	if !ok {
		return nil, false
	}
	path := t.s
	if !isFile(resolvePath(v.src.dir, path)) {
		path = strings.TrimPrefix(path, "@")
	}
	if isFile(resolvePath(v.src.dir, path)) || !strings.ContainsAny(path, "*?[{") {
		one, ok := readInstructionFile(v, path)
		return []Instruction{one}, ok
	}
	found, ok := t.search("glob", filepath.ToSlash(path), pathglob.Search{Files: true, Hidden: true, Limit: maxFiles})
	switch {
	case !ok:
		return nil, false
	case len(found) == 0: // as in OpenCode: the files may come later
		v.src.Found.Note(fmt.Sprintf("%s: no file matches %s, which is relative to the manifest", v.source(), problem.Quote(t.s)))
	case len(found) > maxCommands:
		v.problem(fmt.Sprintf("%s matches more than %d files", problem.Quote(t.s), maxCommands), "name the files that every session needs")
		return nil, false
	}
	var all []Instruction
	for _, file := range found {
		if v.outside(resolvePath(v.src.dir, file), t.s) { // not by its name, which is nobody's business
			return nil, false
		}
		one, valid := readInstructionFile(v, file)
		if ok = ok && valid; valid {
			all = append(all, one)
		}
	}
	return all, ok
}

func readInstructionFile(v value, path string) (Instruction, bool) {
	if v.outside(resolvePath(v.src.dir, path), path) {
		return Instruction{}, false
	}
	v.uses().named(v, resolvePath(v.src.dir, path), path)
	data, err := readRegular(resolvePath(v.src.dir, path), maxFile)
	switch {
	case err != nil:
		v.problem(fmt.Sprintf("%s: %s", problem.Quote(path), missing(err)), "check its path; it is relative to the manifest")
	case !utf8.Valid(data):
		v.problem(fmt.Sprintf("%s is not UTF-8 text", problem.Quote(path)), "save it as UTF-8")
	default:
		return Instruction{Path: path, Text: string(data)}, true
	}
	return Instruction{}, false
}

// maxInstructions bounds the instructions of a manifest, in bytes: every request
// of every session carries them.
const maxInstructions = 4 << 20

// onlyOnce drops files that are named twice, by two patterns for example.
func onlyOnce(v value, all []Instruction) []Instruction {
	var once []Instruction
	size := 0
	for _, i := range all {
		if slices.ContainsFunc(once, func(o Instruction) bool { return o.Path == i.Path }) {
			continue
		}
		size += len(i.Text)
		once = append(once, i)
	}
	if size > maxInstructions {
		v.problem(fmt.Sprintf("the instructions exceed %d MiB", maxInstructions>>20), "every request carries them: shorten them")
	}
	return once
}
