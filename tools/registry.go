package tools

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// Registry is a set of tools, in the order in which models see them.
type Registry struct {
	tools []Tool
	// spare tools are not offered, because the model is said to do better with
	// others, and work all the same if it calls them.
	spare []Tool
}

// For returns the tools of a session: those that its Env is equipped for, in
// the form that its model knows, and more behind them, such as custom ones. An
// error means that two tools have one name.
func For(env *Env, more ...Tool) (*Registry, error) {
	r := &Registry{}
	add := func(there bool, t ...Tool) {
		if there {
			r.tools = append(r.tools, t...)
		}
	}
	add(true, bashTool(), readTool(), listTool(), globTool(), grepTool())
	switch {
	case env.Model == "":
		add(true, editTool(), writeTool(), applyPatchTool())
	case env.patches():
		add(true, applyPatchTool())
		r.spare = []Tool{editTool(), writeTool()}
	default:
		add(true, editTool(), writeTool())
		r.spare = []Tool{applyPatchTool()}
	}
	add(env.Spawn != nil, taskTool(env))
	add(true, webfetchTool(), todoWriteTool(), todoReadTool())
	add(env.Search.Backend != "", websearchTool(), codesearchTool())
	add(len(env.skills())+len(env.SkillProblems) > 0 || env.Model == "", skillTool(env))
	add(env.Batch, batchTool(r))
	for _, t := range more {
		name := t.Spec().Name
		if _, taken := r.lookup(name); taken || permission.Reserved(name) {
			return nil, fmt.Errorf("tool name %s is already in use; choose another name", name)
		}
		add(true, t)
	}
	return r, nil
}

// patches reports whether the session's model is of those that are trained to
// change files by patches. The rule is OpenCode's.
func (env *Env) patches() bool {
	id := strings.ToLower(env.Model)
	return strings.Contains(id, "gpt-") && !strings.Contains(id, "oss") && !strings.Contains(id, "gpt-4")
}

// SideBySide reports whether calls of this name may run beside others of their
// turn.
func (r *Registry) SideBySide(name string) bool {
	t, ok := r.lookup(name)
	return ok && (t.Spec().ReadOnly || t.Spec().SideBySide)
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
	for _, tools := range [][]Tool{r.tools, r.spare} {
		for _, t := range tools {
			if strings.EqualFold(t.Spec().Name, strings.TrimSpace(name)) {
				return t, true
			}
		}
	}
	return nil, false
}
