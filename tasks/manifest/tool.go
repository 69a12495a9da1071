package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

// toolForm is what every provider accepts as the name of a tool.
var toolForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)
})

// readTools reads the custom tools of a manifest.
func readTools(v form.Value) ([]form.Definition[tasks.CustomTool], bool) {
	var all []form.Definition[tasks.CustomTool]
	entries, ok := v.Definitions()
	for _, e := range entries {
		name := e.Key.Value
		same := func(d form.Definition[tasks.CustomTool]) bool { return strings.EqualFold(d.Is.Name, name) }
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
	program programs.Command
	writes  []string
}

// readTool reads one custom tool.
func readTool(v form.Value) form.Definition[tasks.CustomTool] {
	t := form.WithDefaults((*customTool).keys)
	t.Name = v.Key.Value
	t.Schema = map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	t.keys().Read(v)
	t.Command, t.Workspace = t.program.Args, t.writes != nil
	content := tasks.Digest(t.Description, t.program.Written, t.Schema, t.Time, t.ReadOnly)
	if t.Workspace {
		content = tasks.Digest(content, t.writes)
	}
	return form.Definition[tasks.CustomTool]{Value: v, Title: "tool " + problem.Quote(t.Name), Digest: content, Paths: fmt.Sprint(t.Command), Is: t.CustomTool}
}

var toolsForm = form.MapOf("NAME", form.TypeOf((*customTool).keys), readTools)

func (t *customTool) keys() form.Table {
	return form.Table{
		{Name: "description", Field: form.Required("description: TEXT", form.Into(&t.Description, form.String)), Doc: "What the tool does; models read this"},
		{Name: "command", Field: form.Required("command: COMMAND", form.Into(&t.program, programs.Program)), Doc: "Shell command, or a program and its arguments as a list; gets the arguments of the call as JSON on standard input"},
		{Name: "parameters", Field: form.Into(&t.Schema, form.OptionalSchema), Doc: "JSON Schema of the arguments (none if absent)"},
		{Name: "time", Field: form.Into(&t.Time, form.Duration), Def: "2m", Doc: "Timeout of a call"},
		{Name: "read_only", Field: form.Into(&t.ReadOnly, form.Bool), Def: "false", Doc: "Whether calls change nothing and may run concurrently"},
		{Name: "write", Field: form.Into(&t.writes, workspaceForm), Doc: writeWorkspaceDoc},
	}
}
