package manifest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// toolForm is what every provider accepts as the name of a tool.
var toolForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)
})

// readTools reads the custom tools of a manifest.
func readTools(v form.Value) ([]Definition[tasks.CustomTool], bool) {
	var all []Definition[tasks.CustomTool]
	entries, ok := v.Definitions()
	for _, e := range entries {
		name := e.Key.Value
		same := func(d Definition[tasks.CustomTool]) bool { return strings.EqualFold(d.Is.Name, name) }
		switch {
		case !toolForm().MatchString(name):
			e.KeyProblem("invalid tool name "+problem.Quote(name), "use up to 64 letters, digits, _ and -, starting with a letter")
		case permission.Reserved(name):
			e.KeyProblem(fmt.Sprintf("the tool name %s is reserved", problem.Quote(name)), "choose another")
		case slices.ContainsFunc(all, same):
			e.KeyProblem(fmt.Sprintf("the tool name %s differs from another only in case", problem.Quote(name)), "choose another")
		case e.Refused(policy.Extensions, "the tool "+problem.Quote(name), name):
		default:
			all = append(all, readTool(e))
		}
	}
	return all, ok
}

// customTool is a custom tool while it is read.
type customTool struct {
	tasks.CustomTool
	program program
	writes  []string
}

// program is a command line as it is run, and as it is written.
type program struct{ args, written []string }

// readTool reads one custom tool.
func readTool(v form.Value) Definition[tasks.CustomTool] {
	t := form.WithDefaults((*customTool).keys)
	t.Name = v.Key.Value
	t.Schema = map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	t.keys().Read(v)
	t.Command, t.Workspace = t.program.args, t.writes != nil
	content := tasks.Digest(t.Description, t.program.written, t.Schema, t.Time, t.ReadOnly)
	if t.Workspace {
		content = tasks.Digest(content, t.writes)
	}
	return Definition[tasks.CustomTool]{Value: v, Title: "tool " + problem.Quote(t.Name), Digest: content, Is: t.CustomTool}
}

var (
	toolsForm   = form.MapOf("NAME", form.TypeOf((*customTool).keys), readTools)
	programForm = form.Of[program]{Type: form.ScalarType().ListOr(), Read: readProgram}
	argvForm    = form.Of[program]{Type: form.Type{Name: "list", Elem: new(form.ScalarType())}, Read: readArgv}
)

// readProgram reads a shell command, or a program and its arguments. A program
// with a path is relative to the manifest; one without is looked up in PATH.
func readProgram(v form.Value) (program, bool) {
	if !v.IsList() {
		line, ok := readPlain(v)
		return program{[]string{"bash", "-c", line}, []string{line}}, ok
	}
	words, _ := form.UpTo(form.MaxCommands, form.ListOf(form.Of[string]{Read: readPlain})).Read(v)
	if len(v.Node.Content) == 0 {
		v.Problem(v.Label+" is empty", "write a program and its arguments")
	}
	written := slices.Concat([]string{""}, words)
	if len(words) == 0 || len(words) != len(v.Node.Content) || !strings.Contains(words[0], "/") {
		return program{words, written}, true
	}
	path := form.ResolvePath(v.Src.Dir, words[0])
	if v.Outside(path, words[0]) {
		return program{}, false
	}
	v.Uses().Program(v, path, words[0])
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		v.Problem(fmt.Sprintf("program %s: %s", problem.Quote(words[0]), form.Missing(err)), "check its path; it is relative to the manifest")
	} else if info.Mode().Perm()&0o111 == 0 {
		v.Problem(fmt.Sprintf("program %s is not executable", problem.Quote(words[0])), "run chmod +x, or name its interpreter first")
	}
	return program{slices.Concat([]string{path}, words[1:]), written}, true
}

// readArgv reads a program and its arguments.
func readArgv(v form.Value) (program, bool) {
	if !v.IsList() {
		v.Problem(v.Label+" must be a list", "write a program and its arguments, such as [gcloud, auth, print-access-token]")
		return program{}, false
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

func (t *customTool) keys() form.Table {
	return form.Table{
		{Name: "description", Field: form.Required("description: TEXT", form.Into(&t.Description, form.String)), Doc: "What the tool does; models read this"},
		{Name: "command", Field: form.Required("command: COMMAND", form.Into(&t.program, programForm)), Doc: "Shell command, or a program and its arguments as a list; gets the arguments of the call as JSON on standard input"},
		{Name: "parameters", Field: form.Into(&t.Schema, form.OptionalSchema), Doc: "JSON Schema of the arguments (none if absent)"},
		{Name: "time", Field: form.Into(&t.Time, form.Duration), Def: "2m", Doc: "Timeout of a call"},
		{Name: "read_only", Field: form.Into(&t.ReadOnly, form.Bool), Def: "false", Doc: "Whether calls change nothing and may run concurrently"},
		{Name: "write", Field: form.Into(&t.writes, workspaceForm), Doc: writeWorkspaceDoc},
	}
}
