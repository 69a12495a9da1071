package tasks

import (
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
)

// hook is a hook while it is read.
type hook struct {
	Hook
	program  program
	writes   []string
	manifest *manifest
}

// hookLists are the hooks of a manifest.
type hookLists struct{ all []definition[hook] }

var (
	hooksForm       = form.Of[[]definition[hook]]{Type: form.TypeOf((*hookLists).keys), Read: readHooks}
	toolPatternForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: readToolPattern}
)

// readToolPattern reads a name of tools, with wildcards.
func readToolPattern(v form.Value) (string, bool) {
	t, ok := v.Filled()
	return t.S, ok
}

// readHooks reads the hooks of a manifest.
func readHooks(v form.Value) ([]definition[hook], bool) {
	var lists hookLists
	lists.keys().Read(v)
	return lists.all, true
}

// on is the list of the hooks of an event.
func (l *hookLists) on(event HookEvent) form.Field {
	of := func(h *hook) form.Table {
		h.On = event
		return h.keys()
	}
	one := form.Short(form.Of[definition[hook]]{Type: form.TypeOf(of), Read: func(v form.Value) (definition[hook], bool) { return readHook(v, of) }}, form.Type{Name: "string"}, form.IfString("run"))
	f := form.UpTo(form.MaxCommands, form.ListOf(one))
	return form.Field{Type: f.Type, Read: func(v form.Value) {
		hooks, _ := f.Read(v)
		l.all = append(l.all, hooks...)
	}}
}

func readHook(v form.Value, of func(*hook) form.Table) (definition[hook], bool) {
	h := form.WithDefaults(of)
	if v.Refused(policy.Extensions, "the hook "+string(h.On), string(h.On)) {
		return definition[hook]{}, false
	}
	h.keys().Read(v)
	h.Command, h.Workspace, h.Source = h.program.args, h.writes != nil, v.RuleSource()
	content := digest(h.On, h.program.written, h.Tools, h.Time, h.Optional)
	if h.Workspace {
		content = digest(content, h.writes)
	}
	return definition[hook]{Value: v, title: "hook " + string(h.On) + " " + content, digest: content, is: h}, true // equal ones of several manifests run once
}

func (l *hookLists) keys() form.Table {
	return form.Table{
		{Name: "run_start", Field: l.on(RunStart), Doc: "Before the first job; a failure ends all jobs"},
		{Name: "run_end", Field: l.on(RunEnd), Doc: "After the last job"},
		{Name: "job_start", Field: l.on(JobStart), Doc: "Before the setup commands of a job"},
		{Name: "job_end", Field: l.on(JobEnd), Doc: "After everything else of a job"},
		{Name: "before_tool", Field: l.on(BeforeTool), Doc: "Before each tool call; exit code 2 denies it, and standard error is the reason"},
		{Name: "after_tool", Field: l.on(AfterTool), Doc: "After each tool call; standard output is appended to its result"},
		{Name: "before_commit", Field: l.on(BeforeCommit), Doc: "After verify, before the changes are committed; may change files, and a failure prevents the commit"},
		{Name: "after_commit", Field: l.on(AfterCommit), Doc: "After the commit, before it is published"},
	}
}

func (h *hook) keys() form.Table {
	all := form.Table{
		{Name: "run", Field: form.Required("run: COMMAND", form.Into(&h.program, programForm)), Doc: "Shell command, or a program and its arguments"},
		{Name: "time", Field: form.Into(&h.Time, form.Duration), Def: "30s", Doc: "Timeout of the command"},
		{Name: "optional", Field: form.Into(&h.Optional, form.Bool), Def: "false", Doc: "Whether a failure is only a warning"},
	}
	if !h.On.OfRun() {
		all = append(all, form.Row{Name: "write", Field: form.Into(&h.writes, workspaceForm), Doc: writeWorkspaceDoc})
	}
	if h.On == BeforeTool || h.On == AfterTool {
		all = append(all, form.Row{Name: "tools", Field: form.Into(&h.Tools, form.UpTo(form.MaxCommands, form.ListOf(toolPatternForm))), Doc: "Tools whose calls it is run for, with wildcards (all if absent)"})
	}
	return all
}
