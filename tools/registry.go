package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/find"
	"github.com/millhand/millhand/tools/language"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/tool"
	"github.com/millhand/millhand/tools/webfetch"
	"github.com/millhand/millhand/tools/websearch"
)

// Registry is a set of tools, in the order in which models see them.
type Registry struct {
	tools []Tool
	// spare tools are not offered, because the model works better with others,
	// but work if the model calls them.
	spare []Tool

	live    []Tool // tools that may change between turns
	version int
}

// For returns the tools of a session: those that env supports, in the variant
// that suits its model, followed by more, such as custom tools. It fails if two
// tools have the same name.
func For(env *Env, more ...Tool) (*Registry, error) {
	r := &Registry{}
	add := func(t ...Tool) { r.tools = append(r.tools, t...) }
	add(
		tool.In(command.Bash(), (*Env).commands),
		tool.In(file.Read(), (*Env).files),
		tool.In(find.List(), (*Env).finding),
		tool.In(find.Glob(), (*Env).finding),
		tool.In(find.Grep(), (*Env).finding),
	)
	edits, patches := []Tool{tool.In(file.Edit(), (*Env).files), tool.In(file.Write(), (*Env).files)}, tool.In(file.ApplyPatch(), (*Env).files)
	switch {
	case env.Model == "":
		add(append(edits, patches)...)
	case env.patches():
		add(patches)
		r.spare = edits
	default:
		add(edits...)
		r.spare = []Tool{patches}
	}
	if env.Spawn != nil {
		add(taskTool(env))
	}
	add(tool.In(webfetch.Tool(), (*Env).fetching), todoWriteTool(), todoReadTool())
	if env.Search.Backend != "" {
		add(tool.In(websearch.Web(env.Now), (*Env).searching), tool.In(websearch.Code(), (*Env).searching))
	}
	if len(env.Skills.Allowed(env.Profile))+len(env.Skills.Problems) > 0 || env.Model == "" {
		add(skill.Tool[*Env](env.Skills, env.Profile))
	}
	if env.Languages != nil {
		add(tool.In(language.Tool(), (*Env).languages))
	}
	if env.Batch {
		add(batchTool(r))
	}
	for _, t := range more {
		name := t.Spec().Name
		if _, taken := r.lookup(name); taken || permission.Reserved(name) {
			return nil, fmt.Errorf("tool name %s is already in use; choose another name", name)
		}
		add(t)
	}
	return r, nil
}

// Follow sets the tools that may change between the turns of a session, in addition to all others. Their names
// must not be in use. It reports whether they have changed: version is a number that differs after a change. It must not be called
// while a tool runs.
func (r *Registry) Follow(current []Tool, version int) (changed bool) {
	changed = version != r.version
	r.live, r.version = current, version
	return changed
}

// patches reports whether the session's model is trained to edit files with
// apply_patch. The rule is OpenCode's.
func (env *Env) patches() bool {
	id := strings.ToLower(env.Model)
	return strings.Contains(id, "gpt-") && !strings.Contains(id, "oss") && !strings.Contains(id, "gpt-4")
}

// Parallel reports whether calls of the tool may run in parallel with others of
// their turn.
func (r *Registry) Parallel(name string) bool {
	t, ok := r.lookup(name)
	return ok && (t.Spec().ReadOnly || t.Spec().Parallel)
}

// Offer returns the tools to offer to a model under a profile: those that the
// profile does not deny for all arguments.
func (r *Registry) Offer(p permission.Profile) []Spec {
	var specs []Spec
	for _, t := range slices.Concat(r.tools, r.live) {
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

// ReadOnly reports whether calls of the tool have no side effects.
func (r *Registry) ReadOnly(name string) bool {
	t, ok := r.lookup(name)
	return ok && t.Spec().ReadOnly
}

// IsReadOnly reports whether a name is that of a built-in tool that changes nothing.
func IsReadOnly(name string) bool {
	r, err := For(&Env{})
	return err == nil && r.ReadOnly(name)
}

// calledName matches names of tools with what some models and servers leave around them, from the templates
// that present tools: a recipient, namespaces, tokens, the number of the call. No tool has other
// characters in its name than those of the group.
var calledName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^(?:.*\bto=|<\|\w+\|>)?(?:(?:functions?|tools?|default_api)[./:])?([\w-]+)(?:<\|.*|:\d+|\(\))?$`)
})

// plainToolName returns the name of a tool that a model calls, without what surrounds it and without the names of OpenCode 2.
func plainToolName(name string) string {
	name = strings.TrimSpace(name)
	if found := calledName().FindStringSubmatch(name); found != nil {
		name = found[1]
	}
	return permission.Alias(name)
}

// Has reports whether a call of this name would find a tool, offered or not.
func (r *Registry) Has(name string) bool {
	_, ok := r.lookup(name)
	return ok
}

// lookup finds a tool by name, ignoring case and a namespace.
func (r *Registry) lookup(name string) (Tool, bool) {
	name = plainToolName(name)
	for _, tools := range [][]Tool{r.tools, r.spare, r.live} {
		for _, t := range tools {
			if strings.EqualFold(t.Spec().Name, name) {
				return t, true
			}
		}
	}
	return nil, false
}
