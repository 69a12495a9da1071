package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// Process is a process while it is read.
type Process struct {
	program     programs.Command
	Environment []template.Template
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
const writesWorkspace = tasks.WorkspacePrefix + "."

const (
	writeDoc          = "Other paths that it may write, relative to the manifest; workspace:. is the workspace also under a profile that allows no changes"
	writeWorkspaceDoc = "With workspace:. it may write the workspace also under a profile that allows no changes"
)

// keys are those of all kinds of processes, except of the command.
func (p *Process) keys() form.Table {
	return form.Table{
		{Name: "environment", Field: form.Into(&p.Environment, environmentForm), Doc: "Environment variables of the process, in addition to PATH, HOME, TMPDIR and LANG; may contain ${{ env.NAME }}, also as {env:NAME}"},
		{Name: "read", Field: form.Into(&p.reads, form.UpTo(maxHeaders, form.ListOf(processPathForm))), Doc: "Other paths that it may read, relative to the manifest"},
		{Name: "write", Field: form.Into(&p.writes, form.UpTo(maxHeaders, form.ListOf(writePathForm))), Doc: writeDoc},
		{Name: "network", Field: form.Into(&p.network, profiles.Network), Def: "deny", Doc: "deny, allow (public addresses), or a list of hosts and host groups, whatever the profile has"},
		{Name: "cache", Field: form.Into(&p.cache, profiles.Cache), Def: "none", Doc: "Caches of the user whose downloads it may read, as in a profile"},
	}
}

// read returns the process without its environment.
func (p *Process) read() tasks.Process {
	out := tasks.Process{Command: p.program.Args}
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
func (p *Process) digest() string {
	written := func(paths []programPath) (all []string) {
		for _, path := range paths {
			all = append(all, path.written)
		}
		return all
	}
	return tasks.Digest(p.program.Written, spelled(p.Environment), written(p.reads), written(p.writes), p.network, p.cache)
}

// paths are those of this machine.
func (p *Process) paths() string {
	is := p.read()
	return fmt.Sprint(is.Command, is.Read, is.Write)
}

// envReference is OpenCode's form of a variable of the environment.
var envReference = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// ownVariables are those that millhand sets for a process.
var ownVariables = []string{"PATH", "HOME", "TMPDIR"}

// readEnvironment reads variables of a process.
func readEnvironment(v form.Value) ([]template.Template, bool) {
	var all []template.Template
	entries, ok := v.Entries()
	if len(entries) > maxHeaders {
		v.Problem(fmt.Sprintf("%s has more than %d entries", v.Label, maxHeaders), "make it shorter")
		return nil, false
	}
	for _, e := range entries {
		name := e.Key.Value
		switch {
		case !programs.IsEnvName(name):
			e.KeyProblem("invalid environment variable name "+problem.Quote(name), "write for example API_URL")
			continue
		case slices.Contains(ownVariables, name) || strings.HasPrefix(name, "LD_"):
			e.KeyProblem("environment variable "+problem.Quote(name)+" is set by millhand", "remove it")
			continue
		}
		if t, ok := e.Scalar(); ok {
			t.S = envReference.ReplaceAllString(t.S, "$${{ env.$1 }}")
			all = append(all, template.ParseTemplate(t))
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
	if strings.HasPrefix(t.S, tasks.WorkspacePrefix) {
		v.Problem(problem.Quote(t.S)+" is not a path", "remove it, or write a path relative to the manifest")
		return programPath{}, false
	}
	path := userfile.Resolve(v.Src.Dir, t.S)
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
