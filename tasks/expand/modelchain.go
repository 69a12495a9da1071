package expand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// modelNames resolves the names of models.
type modelNames struct {
	*loaded
	providers *providerSet
}

// model resolves the name of a model. The path of a model that is a file is
// relative to dir. What is wrong with the name, if anything, is returned in
// words.
func (n *modelNames) model(name, dir string) (m tasks.Model, what, fix string) {
	if what, fix = n.provider(name); what != "" {
		return tasks.Model{}, what, fix
	}
	if kind, file, _ := strings.Cut(name, ":"); manifest.FileKind(kind) != "" {
		n.Inputs.Uses.Reads(userfile.Resolve(dir, file))
		return manifest.FileModel(kind, file, dir)
	}
	if _, id, _ := strings.Cut(name, "/"); strings.TrimSpace(id) == "" || strings.ContainsAny(id, " \t\r\n") {
		return tasks.Model{}, "missing model name in " + problem.Quote(name), manifest.ModelForm
	}
	return tasks.Model{ID: name, Name: name}, "", ""
}

// provider checks the prefix of a model's name.
func (n *modelNames) provider(name string) (what, fix string) {
	i := strings.IndexAny(name, "/:")
	if i <= 0 {
		return fmt.Sprintf("missing provider in model %s", problem.Quote(name)), manifest.ModelForm
	}
	prefix := name[:i]
	known := slices.Concat(manifest.SupportedProviders(), n.providers.prefixes)
	switch {
	case slices.Contains(known, prefix) && (name[i] == ':') == (manifest.FileKind(prefix) != ""):
		return "", ""
	case slices.Contains(known, prefix):
		return fmt.Sprintf("invalid model %s of provider %s", problem.Quote(name), prefix), manifest.ModelForm
	case slices.Contains(manifest.LaterProviders, prefix):
		return fmt.Sprintf("the provider %s is not supported yet", problem.Quote(prefix)), "use another, or define it under providers: if it has a compatible endpoint"
	case !n.complete: // the manifest that is missing may define it
		return "", ""
	}
	return "unknown provider " + problem.Quote(prefix), n.Found.Suggest(prefix, known, "known providers: ")
}

// modelAt resolves the name of a model in a manifest.
func (n *modelNames) modelAt(name form.Text) tasks.Model {
	m, what, fix := n.model(name.S, name.Src.Dir)
	if what != "" {
		name.Problem(what, fix)
		return m
	}
	if kind, file, ok := strings.Cut(name.S, ":"); ok && manifest.FileKind(kind) != "" {
		name.Uses().Named(name.Value, userfile.Resolve(name.Src.Dir, file), file)
	}
	if by, what := n.refusedModel(m, name.Src.Policies); what != "" {
		name.Problem(form.Refusal(what, by))
	}
	return m
}

// usable reports whether a model that a file in OpenCode's format names can be used, and
// notes why not.
func (n *modelNames) usable(name form.Text) bool {
	_, what, _ := n.model(name.S, name.Src.Dir)
	if what != "" {
		name.Src.Found.Note(fmt.Sprintf("%s: %s: the model of the task is used", name.Position(), what))
	}
	return what == ""
}

// chainAt resolves the names of a fallback list.
func (n *modelNames) chainAt(c manifest.ModelChain) []tasks.Model {
	all := make([]tasks.Model, len(c.Names))
	for i, name := range c.Names {
		all[i] = n.modelAt(name)
	}
	return all
}

// modelsOf returns a task's model and its fallbacks: the command line's, its
// own, its agent's or its manifest's.
func (n *modelNames) modelsOf(t *manifest.Task, a tasks.Agent) []tasks.Model {
	switch {
	case n.Options.Overrides.Model != "":
		m, _, _ := n.model(n.Options.Overrides.Model, n.Options.Dir)
		return []tasks.Model{m}
	case len(t.Models.Names) > 0 && n.usableChain(t):
		return n.chainAt(t.Models)
	case a.Model != nil:
		return []tasks.Model{*a.Model}
	case len(t.Manifest.Models.Names) > 0:
		return n.chainAt(t.Manifest.Models)
	case !t.Models.Wrong && !t.Manifest.Models.Wrong:
		t.Problem(fmt.Sprintf("missing model of task %s", problem.Quote(t.ID.S)), "add model: openai/gpt-5-mini at the top of the manifest, or use --model")
	}
	return nil
}

// escalationOf returns the models that continue after the first one of a task, which must differ from it: reports and sessions
// tell them apart by their names.
func (n *modelNames) escalationOf(t *manifest.Task, first []tasks.Model) []tasks.Model {
	if len(t.Escalate.Names) == 0 {
		return nil
	}
	all := n.chainAt(t.Escalate)
	for i, m := range all {
		if len(first) > 0 && m.ID != "" && m.ID == first[0].ID {
			t.Escalate.Names[i].Problem(fmt.Sprintf("the model %s of escalate is that of the task", problem.Quote(m.Name)), "name another one, or increase attempts")
		}
	}
	return all
}

// usableChain reports whether the models of a task can be used, after leaving out those
// that can't and come from its command.
func (n *modelNames) usableChain(t *manifest.Task) bool {
	if t.Models.OfCommand {
		t.Models.Names = slices.DeleteFunc(slices.Clone(t.Models.Names), func(name form.Text) bool { return !n.usable(name) })
	}
	return len(t.Models.Names) > 0
}

// refusedModel returns which rule refuses a model, and what that is; "" if none
// does.
func (n *modelNames) refusedModel(m tasks.Model, policies policy.Set) (by policy.Rule, what string) {
	kind, file, _ := strings.Cut(m.ID, ":")
	provider := manifest.PrefixOf(m.Name)
	if manifest.FileKind(kind) != "" {
		if by, refused := form.RefusesPath(policies, file); refused {
			return by, "the path " + problem.Quote(strings.TrimPrefix(m.Name, kind+":"))
		}
		provider = kind
	}
	if by, refused := policies.Refuses(policy.Models, m.Name); refused {
		return by, "the model " + problem.Quote(m.Name)
	}
	if by, refused := policies.Refuses(policy.Providers, provider); refused {
		return by, "the provider " + problem.Quote(provider)
	}
	return policy.Rule{}, ""
}

// checkPrice records a price that a policy with a budget refuses: one that is
// lower than is known, or unknown otherwise, would weaken the bound.
func (n *modelNames) checkPrice(p manifest.Price) {
	known, ok := n.Options.Policies.Price(p.Model)
	if !ok && n.Options.Prices != nil {
		known, ok = n.Options.Prices.Highest(p.Model, n.Options.At)
	}
	if p.Value.Src.Policies.IsUntrusted() || !ok || p.Below(known) {
		p.Value.Refused(policy.Budget, "a price for "+problem.Quote(p.Model), "")
	}
}

func checkUnknownPrices(m *manifest.Manifest) {
	if m.AllowUnknownPrice {
		m.Unknown.Refused(policy.Budget, "allow_unknown_price", "")
	}
}
