package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

// plannedExtension is what jobs of a plan start beside the model, in the JSON form of plans.
type plannedExtension struct {
	Kind     string   `json:"kind"` // as in reports
	Name     string   `json:"name"`
	Command  []string `json:"command"` // empty for a remote server
	URL      string   `json:"url"`     // "" for a process
	Files    []string `json:"files"`   // tool files and plugins
	Optional bool     `json:"optional"`
}

// plannedExtensions returns the extensions of a plan. A job starts those whose tools its
// profile allows, for which it uses a file, or whose event happens. Of the known language servers
// those are used that are on the PATH.
func plannedExtensions(plan *tasks.Plan, getenv func(string) string) []plannedExtension {
	all := []plannedExtension{}
	add := func(kind, name string, command []string, optional bool) *plannedExtension {
		all = append(all, plannedExtension{Kind: kind, Name: name, Command: append([]string{}, command...), Files: []string{}, Optional: optional})
		return &all[len(all)-1]
	}
	for _, s := range plan.MCP {
		if one := add("mcp", s.Name, s.Process.Command, s.Optional); s.Remote != nil {
			one.URL = s.Remote.URL
		}
	}
	if s := plan.Scripts; s.Used() {
		runtime := s.Runtime
		if path, err := jshost.FindRuntime(s.Runtime, getenv("PATH")); err == nil {
			runtime = path
		} else if runtime == "auto" {
			runtime = "node"
		}
		one := add("js", "js", []string{runtime}, false)
		for _, f := range slices.Concat(s.ToolFiles, s.Plugins) {
			one.Files = append(one.Files, f.Name)
		}
	}
	if plan.LSP != nil {
		found := runner.FindsProgram(getenv, sandbox.None, "")
		for _, s := range plan.LSP.Servers {
			if !s.IfFound || found(s.Process.Command[0]) {
				add("lsp", s.Name, s.Process.Command, true)
			}
		}
	}
	for _, h := range plan.Hooks {
		add("hook", h.Name, h.Command, h.Optional)
	}
	return all
}

func (x plannedExtension) String() string {
	text := strings.Join(slices.Concat(x.Command, x.Files), " ")
	if x.URL != "" {
		text = x.URL
	}
	if x.Optional {
		text += " (optional)"
	}
	return text
}

// printGrants prints which programs of a plan may write where, whatever the profiles of its jobs allow.
func printGrants(out io.Writer, grants []tasks.Grant) error {
	var b strings.Builder
	for i, g := range grants {
		if i == 0 {
			b.WriteString("\ngrants\n")
		}
		where := g.Dirs
		if g.Workspace {
			where = append([]string{"the workspace"}, where...)
		}
		fmt.Fprintf(&b, "  %s %s may write %s\n", g.Kind, g.Name, printable.Line(strings.Join(where, ", "), 400))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// printExtensions prints the extensions of a plan.
func printExtensions(out io.Writer, extensions []plannedExtension) error {
	var b strings.Builder
	for i, x := range extensions {
		if i == 0 {
			b.WriteString("\nextensions\n")
		}
		fmt.Fprintf(&b, "  %s %s: %s\n", x.Kind, x.Name, printable.Line(x.String(), 200))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// checkExtensions checks whether the programs of a plan's extensions are installed. It
// starts nothing, and uses no network.
func checkExtensions(w World, plan *tasks.Plan) []check {
	var all []check
	for _, x := range plannedExtensions(plan, w.Getenv) {
		c := check{Name: x.Kind + " " + x.Name, Status: checkOK, Found: x.String() + "; not contacted"}
		if x.URL == "" {
			c.Found = x.String()
			if x.ofWorkspace() {
				c.Found += "; not checked: it is in the workspace"
			} else if err := x.installed(w); err != nil {
				c.Status, c.exit = checkMissing, event.ExitFailed
				c.Found, c.Fix = err.Error(), x.fix()
			}
		}
		if x.Optional && c.Status == checkMissing { // jobs continue without it
			c.Status, c.exit = checkWarning, event.ExitOK
		}
		all = append(all, c)
	}
	return all
}

// fix returns what to do about a program that does not exist.
func (x plannedExtension) fix() string {
	if x.Kind == "js" {
		return "install Node.js 20 or newer, or Bun, or fix js.runtime in the manifest"
	}
	return "install it, or fix the command in the manifest"
}

// ofWorkspace reports whether the program is a file in the workspace of a job.
func (x plannedExtension) ofWorkspace() bool {
	return strings.Contains(x.Command[0], "/") && !filepath.IsAbs(x.Command[0])
}

// installed returns an error if the program of an extension does not exist.
func (x plannedExtension) installed(w World) error {
	path, err := proc.Look(x.Command[0], []string{"PATH=" + w.Getenv("PATH")})
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}
