package manifest

import (
	"fmt"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
)

// Hook is a hook while it is read.
type Hook struct {
	tasks.Hook
	program  programs.Command
	writes   []string
	Manifest *Manifest
}

// hookLists are the hooks of a manifest.
type hookLists struct{ all []form.Definition[Hook] }

var (
	hooksForm       = form.Of[[]form.Definition[Hook]]{Type: form.TypeOf((*hookLists).keys), Read: readHooks}
	toolPatternForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: readToolPattern}
)

// readToolPattern reads a name of tools, with wildcards.
func readToolPattern(v form.Value) (string, bool) {
	t, ok := v.Filled()
	return t.S, ok
}

// readHooks reads the hooks of a manifest.
func readHooks(v form.Value) ([]form.Definition[Hook], bool) {
	var lists hookLists
	lists.keys().Read(v)
	return lists.all, true
}

// on is the list of the hooks of an event.
func (l *hookLists) on(event tasks.HookEvent) form.Field {
	of := func(h *Hook) form.Table {
		h.On = event
		return h.keys()
	}
	one := form.Short(form.Of[form.Definition[Hook]]{Type: form.TypeOf(of), Read: func(v form.Value) (form.Definition[Hook], bool) { return readHook(v, of) }}, form.Type{Name: "string"}, form.IfString("run"))
	f := form.UpTo(form.MaxCommands, form.ListOf(one))
	return form.Field{Type: f.Type, Read: func(v form.Value) {
		hooks, _ := f.Read(v)
		l.all = append(l.all, hooks...)
	}}
}

func readHook(v form.Value, of func(*Hook) form.Table) (form.Definition[Hook], bool) {
	h := form.WithDefaults(of)
	if v.Refused(policy.Extensions, "the hook "+string(h.On), string(h.On)) {
		return form.Definition[Hook]{}, false
	}
	h.keys().Read(v)
	h.Command, h.Workspace, h.Source = h.program.Args, h.writes != nil, v.RuleSource()
	content := tasks.Digest(h.On, h.program.Written, h.Tools, h.Time, h.Optional)
	if h.Workspace {
		content = tasks.Digest(content, h.writes)
	}
	return form.Definition[Hook]{Value: v, Title: "hook " + string(h.On) + " " + content, Digest: content, Paths: fmt.Sprint(h.Command), Is: h}, true // equal ones of several manifests run once
}

func (l *hookLists) keys() form.Table {
	return form.Table{
		{Name: "run_start", Field: l.on(tasks.RunStart), Doc: "Before the first job; a failure ends all jobs"},
		{Name: "run_end", Field: l.on(tasks.RunEnd), Doc: "After the last job"},
		{Name: "job_start", Field: l.on(tasks.JobStart), Doc: "Before the setup commands of a job"},
		{Name: "job_end", Field: l.on(tasks.JobEnd), Doc: "After everything else of a job"},
		{Name: "before_tool", Field: l.on(tasks.BeforeTool), Doc: "Before each tool call; exit code 2 denies it, and standard error is the reason"},
		{Name: "after_tool", Field: l.on(tasks.AfterTool), Doc: "After each tool call; standard output is appended to its result"},
		{Name: "before_commit", Field: l.on(tasks.BeforeCommit), Doc: "After verify, before the changes are committed; may change files, and a failure prevents the commit"},
		{Name: "after_commit", Field: l.on(tasks.AfterCommit), Doc: "After the commit, before it is published"},
	}
}

func (h *Hook) keys() form.Table {
	all := form.Table{
		{Name: "run", Field: form.Required("run: COMMAND", form.Into(&h.program, programs.Program)), Doc: "Shell command, or a program and its arguments"},
		{Name: "time", Field: form.Into(&h.Time, form.Duration), Def: "30s", Doc: "Timeout of the command"},
		{Name: "optional", Field: form.Into(&h.Optional, form.Bool), Def: "false", Doc: "Whether a failure is only a warning"},
	}
	if !h.On.OfRun() {
		all = append(all, form.Row{Name: "write", Field: form.Into(&h.writes, workspaceForm), Doc: writeWorkspaceDoc})
	}
	if h.On == tasks.BeforeTool || h.On == tasks.AfterTool {
		all = append(all, form.Row{Name: "tools", Field: form.Into(&h.Tools, form.UpTo(form.MaxCommands, form.ListOf(toolPatternForm))), Doc: "Tools whose calls it is run for, with wildcards (all if absent)"})
	}
	return all
}
