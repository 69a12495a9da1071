package tools

import (
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// Registry is a set of tools, in the order in which models see them.
type Registry struct {
	tools []Tool
}

// BuiltIn returns the tools that millhand has.
func BuiltIn() *Registry {
	return &Registry{tools: []Tool{
		bashTool(),
		readTool(),
		listTool(),
		globTool(),
		grepTool(),
		editTool(),
		writeTool(),
		todoWriteTool(),
		todoReadTool(),
	}}
}

// Offer returns the tools to show a model under a profile: those that it could
// call with some arguments.
func (r *Registry) Offer(p permission.Profile) []Spec {
	var specs []Spec
	for _, t := range r.tools {
		if s := t.Spec(); !p.Hides(permission.ForTool(s.Name)) {
			specs = append(specs, s)
		}
	}
	return specs
}

// Offered returns the names of the tools that Offer returns.
func (r *Registry) Offered(p permission.Profile) []string {
	var names []string
	for _, s := range r.Offer(p) {
		names = append(names, s.Name)
	}
	return names
}

// ReadOnly reports whether a call of this name changes nothing.
func (r *Registry) ReadOnly(name string) bool {
	t, ok := r.lookup(name)
	return ok && t.Spec().ReadOnly
}

// lookup finds a tool by its name, whatever its case.
func (r *Registry) lookup(name string) (Tool, bool) {
	for _, t := range r.tools {
		if strings.EqualFold(t.Spec().Name, strings.TrimSpace(name)) {
			return t, true
		}
	}
	return nil, false
}
