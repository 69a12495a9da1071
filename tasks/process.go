package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Process is a program beside the model that serves a job, and what it may access.
type Process struct {
	Command     []string          // program and arguments; run in the workspace
	Environment map[string]string // in addition to PATH, HOME, TMPDIR and LANG

	// What it may access in addition to what commands of the job's profile may:
	// absolute paths. Its network and caches are its own.
	Read, Write []string
	Workspace   bool `json:",omitempty"` // it may write the workspace, although the job's profile allows no changes
	Network     permission.Network
	Cache       []string

	Secrets  []string   `json:"-"` // values in Environment that are from variables
	Readable []Readable `json:"-"` // what its command names
}

// process is a process while it is read.
type process struct {
	program     program
	environment []template
	network     *permission.Network
	cache       *[]string
	reads       []programPath
	writes      []programPath
}

// programPath is a path as it is used, and as it is written.
type programPath struct{ path, written string }

var (
	environmentForm = form.MapOf("NAME", form.ScalarType(), readEnvironment)
	processPathForm = form.Of[programPath]{Type: form.Type{Name: "string"}, Read: readProcessPath}
	writePathForm   = form.Of[programPath]{Type: form.Type{Name: "string"}, Read: readWritePath}
	workspaceForm   = form.UpTo(1, form.ListOf(form.Enum(writesWorkspace)))
)

// writesWorkspace is the entry of a list of writable paths that stands for the workspace of the job.
const writesWorkspace = workspacePrefix + "."

const (
	writeDoc          = "Other paths that it may write, relative to the manifest; workspace:. is the workspace also under a profile that allows no changes"
	writeWorkspaceDoc = "With workspace:. it may write the workspace also under a profile that allows no changes"
)

// keys are those of all kinds of processes, except of the command.
func (p *process) keys() form.Table {
	return form.Table{
		{Name: "environment", Field: form.Into(&p.environment, environmentForm), Doc: "Environment variables of the process, in addition to PATH, HOME, TMPDIR and LANG; may contain ${{ env.NAME }}, also as {env:NAME}"},
		{Name: "read", Field: form.Into(&p.reads, form.UpTo(maxHeaders, form.ListOf(processPathForm))), Doc: "Other paths that it may read, relative to the manifest"},
		{Name: "write", Field: form.Into(&p.writes, form.UpTo(maxHeaders, form.ListOf(writePathForm))), Doc: writeDoc},
		{Name: "network", Field: form.Into(&p.network, networkForm), Def: "deny", Doc: "deny, allow (public addresses), or a list of hosts and host groups, whatever the profile has"},
		{Name: "cache", Field: form.Into(&p.cache, cacheForm), Def: "none", Doc: "Caches of the user whose downloads it may read, as in a profile"},
	}
}

// read returns the process without its environment.
func (p *process) read() Process {
	out := Process{Command: p.program.args}
	for _, path := range p.reads {
		out.Read = append(out.Read, path.path)
	}
	for _, path := range p.writes {
		if path.written == writesWorkspace {
			out.Workspace = true
			continue
		}
		out.Write = append(out.Write, path.path)
	}
	if p.network != nil {
		out.Network = *p.network
	}
	if p.cache != nil {
		out.Cache = *p.cache
	}
	return out
}

// digest identifies what is written in the manifest.
func (p *process) digest() string {
	written := func(paths []programPath) (all []string) {
		for _, path := range paths {
			all = append(all, path.written)
		}
		return all
	}
	return digest(p.program.written, spelled(p.environment), written(p.reads), written(p.writes), p.network, p.cache)
}

// fillProcess sets the environment.
func fillProcess(p *Process, b *builder, from process) {
	p.Environment, p.Secrets = filledIn(b, from.environment), variablesIn(from.environment, b.options.Getenv)
}

// variablesIn returns the values of the variables of the environment in texts.
func variablesIn(all []template, getenv func(string) string) (secrets []string) {
	for _, t := range all {
		for _, s := range t.segments {
			if name, ok := strings.CutPrefix(s.variable, "env."); ok {
				secrets = append(secrets, getenv(name))
			}
		}
	}
	return secrets
}

// envReference is OpenCode's form of a variable of the environment.
var envReference = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// ownVariables are those that millhand sets for a process.
var ownVariables = []string{"PATH", "HOME", "TMPDIR"}

// readEnvironment reads variables of a process.
func readEnvironment(v form.Value) ([]template, bool) {
	var all []template
	entries, ok := v.Entries()
	if len(entries) > maxHeaders {
		v.Problem(fmt.Sprintf("%s has more than %d entries", v.Label, maxHeaders), "make it shorter")
		return nil, false
	}
	for _, e := range entries {
		name := e.Key.Value
		switch {
		case !envName.MatchString(name):
			e.KeyProblem("invalid environment variable name "+problem.Quote(name), "write for example API_URL")
			continue
		case slices.Contains(ownVariables, name) || strings.HasPrefix(name, "LD_"):
			e.KeyProblem("environment variable "+problem.Quote(name)+" is set by millhand", "remove it")
			continue
		}
		if t, ok := e.Scalar(); ok {
			t.S = envReference.ReplaceAllString(t.S, "$${{ env.$1 }}")
			all = append(all, parseTemplate(t))
		}
	}
	return all, ok
}

// readProcessPath reads a path that a process may access.
func readProcessPath(v form.Value) (programPath, bool) {
	t, ok := v.Filled()
	if !ok {
		return programPath{}, false
	}
	if strings.HasPrefix(t.S, workspacePrefix) {
		v.Problem(problem.Quote(t.S)+" is not a path", "remove it, or write a path relative to the manifest")
		return programPath{}, false
	}
	path := form.ResolvePath(v.Src.Dir, t.S)
	v.Uses().Tree(v, path, t.S)
	return programPath{path, t.S}, !v.Outside(path, t.S)
}

// readWritePath reads a path that a process may write, or the workspace.
func readWritePath(v form.Value) (programPath, bool) {
	if v.IsScalar() && v.Node.Value == writesWorkspace {
		return programPath{written: writesWorkspace}, true
	}
	return readProcessPath(v)
}

// Grant is a program that serves jobs and may write more than commands of a job whose profile allows no
// changes.
type Grant struct {
	Kind, Name string
	Workspace  bool
	Dirs       []string
}

// Grants returns the programs that may write somewhere because their own write key states it.
func (p *Plan) Grants() []Grant {
	var all []Grant
	add := func(kind, name string, workspace bool, dirs []string) {
		if workspace || len(dirs) > 0 {
			all = append(all, Grant{kind, name, workspace, dirs})
		}
	}
	for _, t := range p.Tools {
		add("tool", t.Name, t.Workspace, nil)
	}
	for _, s := range p.MCP {
		add("mcp", s.Name, s.Process.Workspace, s.Process.Write)
	}
	if p.Scripts.Used() {
		add("js", "js", p.Scripts.Process.Workspace, p.Scripts.Process.Write)
	}
	if p.LSP != nil {
		for _, s := range p.LSP.Servers {
			add("lsp", s.Name, false, s.Process.Write)
		}
	}
	for _, h := range p.Hooks {
		add("hook", h.Name, h.Workspace, nil)
	}
	return all
}

// grantWorkspaces extends the write keys of processes: a directory that contains the repositories of all jobs
// includes their workspaces, wherever these are.
func grantWorkspaces(p *Plan) {
	extend := func(s *Process) {
		s.Workspace = s.Workspace || slices.ContainsFunc(s.Write, func(dir string) bool {
			return !slices.ContainsFunc(p.Jobs, func(j Job) bool {
				return j.Repo.Dir == "" || !pathtree.Within(form.RealDir(j.Repo.Dir), form.RealDir(dir))
			})
		})
	}
	for i := range p.MCP {
		extend(&p.MCP[i].Process)
	}
	extend(&p.Scripts.Process)
}

// protectGranted adds the protected paths of the presets to the profiles of jobs that allow no changes, if a
// program may change files there nevertheless.
func protectGranted(p *Plan) {
	if !slices.ContainsFunc(p.Grants(), func(g Grant) bool { return g.Workspace }) {
		return
	}
	for i := range p.Jobs {
		if j := &p.Jobs[i]; j.Script == nil && !j.Profile.MayChange() {
			j.Profile = j.Profile.Narrowed("preset edit", permission.Protected("preset edit"))
		}
	}
}

// StartsProcesses reports whether jobs have programs beside the model.
func (p *Plan) StartsProcesses() bool {
	return len(p.LocalMCP())+len(p.Hooks) > 0 || p.Scripts.Used() || p.LSP != nil
}
