package tasks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
)

// HookEvent is when a hook runs.
type HookEvent string

// The events of hooks.
const (
	RunStart     HookEvent = "run_start"
	RunEnd       HookEvent = "run_end"
	JobStart     HookEvent = "job_start"
	JobEnd       HookEvent = "job_end"
	BeforeTool   HookEvent = "before_tool"
	AfterTool    HookEvent = "after_tool"
	BeforeCommit HookEvent = "before_commit"
	AfterCommit  HookEvent = "after_commit"
)

// OfRun reports whether hooks of the event belong to no job.
func (e HookEvent) OfRun() bool { return e == RunStart || e == RunEnd }

// Hook is a command that runs on an event. It reads JSON from standard input.
type Hook struct {
	Name     string // in messages and reports: the event, with an index if it has several hooks
	On       HookEvent
	Command  []string // program and arguments, or a shell line behind bash -c
	Tools    []string // names of tools whose calls it is run for, with wildcards; none for all
	Time     time.Duration
	Optional bool // a failure is a warning

	Workspace bool `json:",omitempty"` // as of a Process
	// Profile is that of the manifest, for hooks of the run; the others have that of the job.
	Profile permission.Profile `json:",omitzero"`

	Source   string     `json:"-"` // FILE:LINE, for messages
	Readable []Readable `json:"-"` // what its command names
}

// For reports whether the hook runs for calls of a tool. Letter case does not matter, nor which of its
// names a built-in tool has: a guard that matches nothing would deny nothing.
func (h *Hook) For(tool string) bool {
	return len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, func(pattern string) bool {
		return permission.Match(permission.Alias(strings.ToLower(pattern)), strings.ToLower(tool))
	})
}

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
	hooksForm       = form[[]definition[hook]]{typeOf((*hookLists).keys), readHooks}
	toolPatternForm = form[string]{Type{Name: "string"}, readToolPattern}
)

// readToolPattern reads a name of tools, with wildcards.
func readToolPattern(v value) (string, bool) {
	t, ok := v.filled()
	return t.s, ok
}

// readHooks reads the hooks of a manifest.
func readHooks(v value) ([]definition[hook], bool) {
	var lists hookLists
	lists.keys().read(v)
	return lists.all, true
}

// on is the list of the hooks of an event.
func (l *hookLists) on(event HookEvent) field {
	of := func(h *hook) keys {
		h.On = event
		return h.keys()
	}
	one := short(form[definition[hook]]{typeOf(of), func(v value) (definition[hook], bool) { return readHook(v, of) }}, Type{Name: "string"}, ifString("run"))
	f := upTo(maxCommands, listOf(one))
	return field{Type: f.Type, read: func(v value) {
		hooks, _ := f.read(v)
		l.all = append(l.all, hooks...)
	}}
}

func readHook(v value, of func(*hook) keys) (definition[hook], bool) {
	h := withDefaults(of)
	if v.refused(policy.Extensions, "the hook "+string(h.On), string(h.On)) {
		return definition[hook]{}, false
	}
	h.keys().read(v)
	h.Command, h.Workspace, h.Source = h.program.args, h.writes != nil, v.ruleSource()
	content := digest(h.On, h.program.written, h.Tools, h.Time, h.Optional)
	if h.Workspace {
		content = digest(content, h.writes)
	}
	return definition[hook]{value: v, title: "hook " + string(h.On) + " " + content, digest: content, is: h}, true // equal ones of several manifests run once
}

// hooks resolves the hooks of all manifests.
func hooks(b *builder) []definition[hook] {
	all := gather(b.manifests, func(m *manifest) []definition[hook] {
		for i := range m.hooks {
			m.hooks[i].is.manifest = m
		}
		return m.hooks
	})
	total, seen := map[HookEvent]int{}, map[HookEvent]int{}
	for _, d := range all {
		total[d.is.On]++
	}
	for i := range all {
		h := &all[i].is
		if h.Name = string(h.On); total[h.On] > 1 {
			h.Name = fmt.Sprintf("%s[%d]", h.On, seen[h.On])
		}
		seen[h.On]++
	}
	return all
}

// equipHooks puts the hooks into the plan.
func equipHooks(b *builder, p *Plan) {
	for i := range b.hooks {
		d := &b.hooks[i]
		if h := &d.is; h.On.OfRun() {
			of := b.profileOf(&task{manifest: h.manifest}) // as of a task without one
			h.Profile = b.options.Policies.Under(of.Profile)
			d.digest = digest(d.digest, of.digest)
		}
		p.Hooks = append(p.Hooks, d.is.Hook)
	}
}

// resolveBeside replaces paths in the command, as of a custom tool.
func (h *Hook) resolveBeside(b Beside, jobs []Job) {
	h.Command, h.Readable = b.resolveProgram(h.Command, jobs)
}

func (l *hookLists) keys() keys {
	return keys{
		{"run_start", l.on(RunStart), "", "Before the first job; a failure ends all jobs"},
		{"run_end", l.on(RunEnd), "", "After the last job"},
		{"job_start", l.on(JobStart), "", "Before the setup commands of a job"},
		{"job_end", l.on(JobEnd), "", "After everything else of a job"},
		{"before_tool", l.on(BeforeTool), "", "Before each tool call; exit code 2 denies it, and standard error is the reason"},
		{"after_tool", l.on(AfterTool), "", "After each tool call; standard output is appended to its result"},
		{"before_commit", l.on(BeforeCommit), "", "After verify, before the changes are committed; may change files, and a failure prevents the commit"},
		{"after_commit", l.on(AfterCommit), "", "After the commit, before it is published"},
	}
}

func (h *hook) keys() keys {
	all := keys{
		{"run", required("run: COMMAND", into(&h.program, programForm)), "", "Shell command, or a program and its arguments"},
		{"time", into(&h.Time, durationForm), "30s", "Timeout of the command"},
		{"optional", into(&h.Optional, boolForm), "false", "Whether a failure is only a warning"},
	}
	if !h.On.OfRun() {
		all = append(all, key{"write", into(&h.writes, workspaceForm), "", writeWorkspaceDoc})
	}
	if h.On == BeforeTool || h.On == AfterTool {
		all = append(all, key{"tools", into(&h.Tools, upTo(maxCommands, listOf(toolPatternForm))), "", "Tools whose calls it is run for, with wildcards (all if absent)"})
	}
	return all
}
