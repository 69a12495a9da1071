package tasks

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/policy"
)

// DefaultToolTime is the deadline of a custom tool's call where the manifest
// says nothing.
const DefaultToolTime = 2 * time.Minute

// toolForm is what every provider takes as the name of a tool.
var toolForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// readTools reads the custom tools of a manifest.
func readTools(v value) ([]definition[CustomTool], bool) {
	var all []definition[CustomTool]
	entries, ok := v.definitions()
	for _, e := range entries {
		name := e.key.Value
		same := func(d definition[CustomTool]) bool { return strings.EqualFold(d.is.Name, name) }
		switch {
		case !toolForm.MatchString(name):
			e.keyProblem(quote(name)+" is not the name of a tool", "use up to 64 letters, digits, _ and -, beginning with a letter")
		case permission.Reserved(name):
			e.keyProblem(fmt.Sprintf("the name %s is taken", quote(name)), "choose another")
		case slices.ContainsFunc(all, same):
			e.keyProblem(fmt.Sprintf("the name %s differs from another tool's in case alone", quote(name)), "choose another")
		case e.refused(policy.Extensions, "the tool "+quote(name), name):
		default:
			all = append(all, readTool(e))
		}
	}
	return all, ok
}

// readTool reads one custom tool.
func readTool(v value) definition[CustomTool] {
	t := CustomTool{Name: v.key.Value, Time: DefaultToolTime}
	t.Schema = map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	var written []string
	got := fields{
		"description": into(&t.Description, value.str),
		"command":     func(v value) { t.Command, written = readProgram(v) },
		"parameters": func(v value) {
			if !v.empty() {
				into(&t.Schema, readSchema)(v)
			}
		},
		"time":      into(&t.Time, readDuration),
		"read_only": into(&t.ReadOnly, value.boolean),
	}.read(v)
	for _, key := range []string{"description", "command"} {
		if _, ok := got[key]; !ok && v.isMapping() {
			v.keyProblem(fmt.Sprintf("the tool %s has no %s", quote(t.Name), key), "write {description: WHAT IT IS FOR, command: COMMAND}")
		}
	}
	says := digest(t.Description, written, t.Schema, t.Time, t.ReadOnly)
	return definition[CustomTool]{value: v, title: "tool " + quote(t.Name), digest: says, is: t}
}

// readProgram reads a line for bash, or a program and its arguments, and returns it
// as it is run and as it is written. A program with a path is relative to the
// manifest; one without is looked for in PATH.
func readProgram(v value) (args, written []string) {
	if !v.isList() {
		line, ok := readPlain(v)
		if !ok {
			return nil, nil
		}
		return []string{"bash", "-c", line}, []string{line}
	}
	written, _ = upTo(maxCommands, list(readPlain))(v)
	if len(v.node.Content) == 0 {
		v.problem(v.name+" is empty", "write a program and its arguments")
	}
	if len(written) == 0 || len(written) != len(v.node.Content) || !strings.Contains(written[0], "/") {
		return written, slices.Concat([]string{""}, written)
	}
	path := resolvePath(v.src.dir, written[0])
	if v.outside(path, written[0]) {
		return nil, nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		v.problem(fmt.Sprintf("the program %s %s", quote(written[0]), missing(err)), "check its path; it is relative to the manifest")
	} else if info.Mode().Perm()&0o111 == 0 {
		v.problem(fmt.Sprintf("the program %s is not executable", quote(written[0])), "make it so with chmod +x, or name its interpreter first")
	}
	return slices.Concat([]string{path}, written[1:]), slices.Concat([]string{""}, written)
}

// readPlain reads a part of a command that is the same in every job.
func readPlain(v value) (string, bool) {
	t, ok := v.scalar()
	switch {
	case !ok:
	case strings.Contains(t.s, opening):
		v.problem(v.name+" holds a variable, and a tool's command has none", "what differs between calls comes as JSON on standard input")
		return "", false
	case strings.ContainsRune(t.s, 0):
		v.problem(v.name+" holds a zero byte", "take it out")
		return "", false
	}
	return t.s, ok
}
