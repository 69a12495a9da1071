// Package planned describes the programs that a plan will start ([Extensions]) and what they may write ([PrintGrants]),
// as documents and as text, and which of its work would be lost or is impossible ([NoteOnRunner], [NoteProfiles]).
// Package outlook and package doctor show them; package runs warns of work that would be lost ([WarnOnRunner]). It
// starts nothing, and makes no plan.
package planned

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// Extension is what jobs of a plan start beside the model, in the JSON form of plans.
type Extension struct {
	Kind     string   `json:"kind"` // as in reports
	Name     string   `json:"name"`
	Command  []string `json:"command"` // empty for a remote server
	URL      string   `json:"url"`     // "" for a process
	Files    []string `json:"files"`   // tool files and plugins
	Optional bool     `json:"optional"`
}

// Extensions returns the extensions of a plan. A job starts those whose tools its
// profile allows, for which it uses a file, or whose event happens. Of the known language servers
// those are used that are on the PATH.
func Extensions(plan *tasks.Plan, getenv func(string) string) []Extension {
	all := []Extension{}
	add := func(kind, name string, command []string, optional bool) *Extension {
		all = append(all, Extension{Kind: kind, Name: name, Command: append([]string{}, command...), Files: []string{}, Optional: optional})
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
		for _, s := range confinement.FoundServers(*plan.LSP, getenv, sandbox.None, "").Servers {
			add("lsp", s.Name, s.Process.Command, true)
		}
	}
	for _, h := range plan.Hooks {
		add("hook", h.Name, h.Command, h.Optional)
	}
	return all
}

func (x Extension) String() string {
	text := strings.Join(slices.Concat(x.Command, x.Files), " ")
	if x.URL != "" {
		text = x.URL
	}
	if x.Optional {
		text += " (optional)"
	}
	return text
}

// PrintGrants prints which programs of a plan may write where, whatever the profiles of its jobs allow.
func PrintGrants(out io.Writer, grants []tasks.Grant) error {
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

// PrintExtensions prints the extensions of a plan.
func PrintExtensions(out io.Writer, extensions []Extension) error {
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
