package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Scripts are the settings under js while they are read.
type Scripts struct {
	tasks.Scripts
	Written Process
}

// plugin is a plugin while it is read.
type plugin struct {
	tasks.ScriptFile
	options any
	file    tasks.ScriptFile
}

var (
	scriptFileForm = form.Of[form.Definition[tasks.ScriptFile]]{Type: form.Type{Name: "string"}, Read: readToolFile}
	pluginForm     = form.Of[form.Definition[tasks.ScriptFile]]{Type: form.Type{Name: "string", Or: new(form.TypeOf((*plugin).keys))}, Read: readPlugin}
	pluginPathForm = form.Of[tasks.ScriptFile]{Type: form.Type{Name: "string"}, Read: readPluginPath}
	scriptsForm    = form.Of[[]form.Definition[Scripts]]{Type: form.TypeOf((*Scripts).Keys), Read: readScripts}
	optionsForm    = form.Of[any]{Type: form.Type{Name: "mapping"}, Read: func(v form.Value) (any, bool) { return v.JSON() }}
)

// readScript reads a path of a file or a directory.
func readScript(v form.Value) (tasks.ScriptFile, os.FileInfo, bool) {
	t, ok := v.Filled()
	if !ok {
		return tasks.ScriptFile{}, nil, false
	}
	f := tasks.ScriptFile{Name: t.S}
	if below, found := strings.CutPrefix(t.S, tasks.WorkspacePrefix); found {
		f.Path, f.Workspace = path.Clean(below), true
		if path.IsAbs(below) || f.Path == ".." || strings.HasPrefix(f.Path, "../") {
			v.Problem(problem.Quote(t.S)+" is outside of the repository", "write a path relative to its root")
			return f, nil, false
		}
		return f, nil, true
	}
	f.Path = userfile.Resolve(v.Src.Dir, t.S)
	if v.Outside(f.Path, t.S) {
		return f, nil, false
	}
	v.Uses().Named(v, f.Path, t.S)
	info, err := os.Stat(f.Path)
	if err != nil {
		v.Problem(fmt.Sprintf("file %s: %s", problem.Quote(t.S), userfile.Missing(err)), "check its path; it is relative to the manifest")
		return f, nil, false
	}
	return f, info, true
}

// readToolFile reads an entry of tools_from.
func readToolFile(v form.Value) (form.Definition[tasks.ScriptFile], bool) {
	f, info, ok := readScript(v)
	switch {
	case !ok || v.Refused(policy.Extensions, "the tool file "+problem.Quote(f.Name), f.Name):
		return form.Definition[tasks.ScriptFile]{}, false
	case info == nil:
	case info.IsDir() && len(tasks.ToolFilesIn(f.Path)) == 0:
		v.Problem(problem.Quote(f.Name)+" has no tool files", "tool files are *.ts and *.js in its directories tool and tools")
		ok = false
	case !info.IsDir() && !tasks.IsScript(f.Path):
		v.Problem(problem.Quote(f.Name)+" is not a tool file", "write the path of a .ts or .js file, or of a directory")
		ok = false
	}
	return form.Definition[tasks.ScriptFile]{Value: v, Title: "tool file " + problem.Quote(f.Name), Digest: tasks.Digest(f.Name), Paths: f.Path, Is: f}, ok
}

// readPlugin reads an entry of plugins: a path, or a mapping.
func readPlugin(v form.Value) (form.Definition[tasks.ScriptFile], bool) {
	var p plugin
	var ok bool
	if v.IsMapping() {
		p.keys().Read(v)
		p.Name, p.Path, p.Workspace = p.file.Name, p.file.Path, p.file.Workspace
		ok = p.Path != ""
		if p.options != nil {
			var err error
			p.Options, err = json.Marshal(p.options)
			ok = ok && err == nil
		}
	} else {
		p.ScriptFile, ok = readPluginPath(v)
	}
	f := p.ScriptFile
	ok = ok && !v.Refused(policy.Extensions, "the plugin "+problem.Quote(f.Name), f.Name)
	return form.Definition[tasks.ScriptFile]{Value: v, Title: "plugin " + problem.Quote(f.Name), Digest: tasks.Digest(f.Name, f.Options, f.Optional), Paths: f.Path, Is: f}, ok
}

// readPluginPath reads the path of a plugin: a file, or a directory with a package.json.
func readPluginPath(v form.Value) (tasks.ScriptFile, bool) {
	if t, ok := v.Text(); ok && !strings.HasPrefix(t.S, tasks.WorkspacePrefix) && !tasks.IsScript(t.S) && !strings.HasPrefix(t.S, ".") && !filepath.IsAbs(t.S) {
		if _, err := os.Stat(userfile.Resolve(v.Src.Dir, t.S)); err != nil {
			v.Problem(problem.Quote(t.S)+" is not a path", "install the package, and write the path of its directory, such as ./node_modules/"+t.S+": millhand installs nothing")
			return tasks.ScriptFile{}, false
		}
	}
	f, info, ok := readScript(v)
	switch {
	case !ok || info == nil:
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(f.Path, "package.json")); err != nil {
			v.Problem(problem.Quote(f.Name)+" has no package.json", "write the path of the plugin's file, or of its package")
			ok = false
		}
	case !tasks.IsScript(f.Path):
		v.Problem(problem.Quote(f.Name)+" is not a plugin", "write the path of a .ts or .js file, or of a package")
		ok = false
	}
	return f, ok
}

// readScripts reads the settings of the process.
func readScripts(v form.Value) ([]form.Definition[Scripts], bool) {
	s := form.WithDefaults((*Scripts).Keys)
	s.Keys().Read(v)
	s.Process = s.Written.read()
	content := tasks.Digest(s.Written.digest(), s.Runtime, s.CallTimeout, s.HookTimeout)
	return []form.Definition[Scripts]{{Value: v, Title: "js", Digest: content, Paths: s.Written.paths(), Is: s}}, true
}

// Keys are the keys of js, which set its fields.
func (s *Scripts) Keys() form.Table {
	return append(form.Table{
		{Name: "runtime", Field: form.Into(&s.Runtime, form.OneOf([]string{"auto", "node", "bun"})), Def: "auto", Doc: "Node.js (20 or newer) or Bun; auto: the first on the PATH"},
		{Name: "call_timeout", Field: form.Into(&s.CallTimeout, timeoutForm), Def: "2m", Doc: "Timeout of a call of a tool"},
		{Name: "hook_timeout", Field: form.Into(&s.HookTimeout, timeoutForm), Def: "10s", Doc: "Timeout of a hook of a plugin"},
	}, s.Written.keys()...)
}

func (p *plugin) keys() form.Table {
	return form.Table{
		{Name: "path", Field: form.Required("path: FILE", form.Into(&p.file, pluginPathForm)), Doc: "File or package of the plugin, relative to the manifest, or workspace:PATH"},
		{Name: "options", Field: form.Into(&p.options, optionsForm), Doc: "Options that the plugin gets"},
		{Name: "optional", Field: form.Into(&p.Optional, form.Bool), Def: "false", Doc: "Whether jobs continue without it if it does not load"},
	}
}
