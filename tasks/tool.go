package tasks

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// toolForm is what every provider accepts as the name of a tool.
var toolForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)
})

// readTools reads the custom tools of a manifest.
func readTools(v value) ([]definition[CustomTool], bool) {
	var all []definition[CustomTool]
	entries, ok := v.definitions()
	for _, e := range entries {
		name := e.key.Value
		same := func(d definition[CustomTool]) bool { return strings.EqualFold(d.is.Name, name) }
		switch {
		case !toolForm().MatchString(name):
			e.keyProblem("invalid tool name "+problem.Quote(name), "use up to 64 letters, digits, _ and -, starting with a letter")
		case permission.Reserved(name):
			e.keyProblem(fmt.Sprintf("the tool name %s is reserved", problem.Quote(name)), "choose another")
		case slices.ContainsFunc(all, same):
			e.keyProblem(fmt.Sprintf("the tool name %s differs from another only in case", problem.Quote(name)), "choose another")
		case e.refused(policy.Extensions, "the tool "+problem.Quote(name), name):
		default:
			all = append(all, readTool(e))
		}
	}
	return all, ok
}

// customTool is a custom tool while it is read.
type customTool struct {
	CustomTool
	program program
	writes  []string
}

// program is a command line as it is run, and as it is written.
type program struct{ args, written []string }

// readTool reads one custom tool.
func readTool(v value) definition[CustomTool] {
	t := withDefaults((*customTool).keys)
	t.Name = v.key.Value
	t.Schema = map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	t.keys().read(v)
	t.Command, t.Workspace = t.program.args, t.writes != nil
	content := digest(t.Description, t.program.written, t.Schema, t.Time, t.ReadOnly)
	if t.Workspace {
		content = digest(content, t.writes)
	}
	return definition[CustomTool]{value: v, title: "tool " + problem.Quote(t.Name), digest: content, is: t.CustomTool}
}

var (
	toolsForm   = mapOf("NAME", typeOf((*customTool).keys), readTools)
	programForm = form[program]{scalarType().listOr(), readProgram}
	argvForm    = form[program]{Type{Name: "list", Elem: new(scalarType())}, readArgv}
)

// readProgram reads a shell command, or a program and its arguments. A program
// with a path is relative to the manifest; one without is looked up in PATH.
func readProgram(v value) (program, bool) {
	if !v.isList() {
		line, ok := readPlain(v)
		return program{[]string{"bash", "-c", line}, []string{line}}, ok
	}
	words, _ := upTo(maxCommands, listOf(form[string]{read: readPlain})).read(v)
	if len(v.node.Content) == 0 {
		v.problem(v.name+" is empty", "write a program and its arguments")
	}
	written := slices.Concat([]string{""}, words)
	if len(words) == 0 || len(words) != len(v.node.Content) || !strings.Contains(words[0], "/") {
		return program{words, written}, true
	}
	path := resolvePath(v.src.dir, words[0])
	if v.outside(path, words[0]) {
		return program{}, false
	}
	v.uses().program(v, path, words[0])
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		v.problem(fmt.Sprintf("program %s: %s", problem.Quote(words[0]), missing(err)), "check its path; it is relative to the manifest")
	} else if info.Mode().Perm()&0o111 == 0 {
		v.problem(fmt.Sprintf("program %s is not executable", problem.Quote(words[0])), "run chmod +x, or name its interpreter first")
	}
	return program{slices.Concat([]string{path}, words[1:]), written}, true
}

// readArgv reads a program and its arguments.
func readArgv(v value) (program, bool) {
	if !v.isList() {
		v.problem(v.name+" must be a list", "write a program and its arguments, such as [gcloud, auth, print-access-token]")
		return program{}, false
	}
	return readProgram(v)
}

// readPlain reads a word of a command that is the same in every job.
func readPlain(v value) (string, bool) {
	t, ok := v.scalar()
	v.uses().command(v, t.s)
	switch {
	case !ok:
	case strings.Contains(t.s, opening):
		v.problem(v.name+" must not contain variables", "write a fixed command; tools and hooks read JSON from standard input")
		return "", false
	case strings.ContainsRune(t.s, 0):
		v.problem(v.name+" contains a NUL byte", "remove it")
		return "", false
	}
	return t.s, ok
}

func (t *customTool) keys() keys {
	return keys{
		{"description", required("description: TEXT", into(&t.Description, stringForm)), "", "What the tool does; models read this"},
		{"command", required("command: COMMAND", into(&t.program, programForm)), "", "Shell command, or a program and its arguments as a list; gets the arguments of the call as JSON on standard input"},
		{"parameters", into(&t.Schema, emptySchemaForm), "", "JSON Schema of the arguments (none if absent)"},
		{"time", into(&t.Time, durationForm), "2m", "Timeout of a call"},
		{"read_only", into(&t.ReadOnly, boolForm), "false", "Whether calls change nothing and may run concurrently"},
		{"write", into(&t.writes, workspaceForm), "", writeWorkspaceDoc},
	}
}
