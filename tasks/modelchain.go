package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// checkFacts records what an operator's budget, or the price table, refuses.
func (b *builder) checkFacts(provider string, m modelFacts) {
	if m.Like != "" && b.options.Known != nil {
		if _, ok := b.options.Known(m.Like); !ok {
			m.KeyProblem("like: "+problem.Quote(m.Like)+" is not in the price table", "see millhand models, or state the prices")
		}
	}
	name := provider + "/" + m.name
	if _, stated := b.options.Policies.Price(name); !stated && (m.Like != "" || m.Priced()) {
		m.Refused(policy.Budget, "a price for "+problem.Quote(name), "")
	}
}

// model resolves the name of a model. The path of a model that is a file is
// relative to dir. What is wrong with the name, if anything, is returned in
// words.
func (b *builder) model(name, dir string) (m Model, what, fix string) {
	if what, fix = b.provider(name); what != "" {
		return Model{}, what, fix
	}
	if kind, file, _ := strings.Cut(name, ":"); fileKind(kind) != "" {
		b.inputs.Uses.Reads(form.ResolvePath(dir, file))
		return fileModel(kind, file, dir)
	}
	if _, id, _ := strings.Cut(name, "/"); strings.TrimSpace(id) == "" || strings.ContainsAny(id, " \t\r\n") {
		return Model{}, "missing model name in " + problem.Quote(name), modelForm
	}
	return Model{ID: name, Name: name}, "", ""
}

// provider checks the prefix of a model's name.
func (b *builder) provider(name string) (what, fix string) {
	i := strings.IndexAny(name, "/:")
	if i <= 0 {
		return fmt.Sprintf("missing provider in model %s", problem.Quote(name)), modelForm
	}
	prefix := name[:i]
	known := slices.Concat(supportedProviders(), b.shared.providerNames)
	switch {
	case slices.Contains(known, prefix) && (name[i] == ':') == (fileKind(prefix) != ""):
		return "", ""
	case slices.Contains(known, prefix):
		return fmt.Sprintf("invalid model %s of provider %s", problem.Quote(name), prefix), modelForm
	case slices.Contains(laterProviders, prefix):
		return fmt.Sprintf("the provider %s is not supported yet", problem.Quote(prefix)), "use another, or define it under providers: if it has a compatible endpoint"
	case !b.complete: // the manifest that is missing may define it
		return "", ""
	}
	return "unknown provider " + problem.Quote(prefix), b.found.Suggest(prefix, known, "known providers: ")
}

// modelAt resolves the name of a model in a manifest.
func (b *builder) modelAt(name form.Text) Model {
	m, what, fix := b.model(name.S, name.Src.Dir)
	if what != "" {
		name.Problem(what, fix)
		return m
	}
	if kind, file, ok := strings.Cut(name.S, ":"); ok && fileKind(kind) != "" {
		name.Uses().Named(name.Value, form.ResolvePath(name.Src.Dir, file), file)
	}
	if by, what := b.refusedModel(m, name.Src.Policies); what != "" {
		name.Problem(form.Refusal(what, by))
	}
	return m
}

// usable reports whether a model that a file in OpenCode's format names can be used, and
// notes why not.
func usable(b *builder, name form.Text) bool {
	_, what, _ := b.model(name.S, name.Src.Dir)
	if what != "" {
		name.Src.Found.Note(fmt.Sprintf("%s: %s: the model of the task is used", name.Position(), what))
	}
	return what == ""
}

// chainAt resolves the names of a fallback list.
func (b *builder) chainAt(c modelChain) []Model {
	all := make([]Model, len(c.names))
	for i, name := range c.names {
		all[i] = b.modelAt(name)
	}
	return all
}

// modelsOf returns a task's model and its fallbacks: the command line's, its
// own, its agent's or its manifest's.
func (b *builder) modelsOf(t *task, a Agent) []Model {
	switch {
	case b.options.Overrides.Model != "":
		m, _, _ := b.model(b.options.Overrides.Model, b.options.Dir)
		return []Model{m}
	case len(t.models.names) > 0 && usableChain(b, t):
		return b.chainAt(t.models)
	case a.Model != nil:
		return []Model{*a.Model}
	case len(t.manifest.models.names) > 0:
		return b.chainAt(t.manifest.models)
	case !t.models.wrong && !t.manifest.models.wrong:
		t.Problem(fmt.Sprintf("missing model of task %s", problem.Quote(t.id.S)), "add model: openai/gpt-5-mini at the top of the manifest, or use --model")
	}
	return nil
}

// usableChain reports whether the models of a task can be used, after leaving out those
// that can't and come from its command.
func usableChain(b *builder, t *task) bool {
	if t.models.ofCommand {
		t.models.names = slices.DeleteFunc(slices.Clone(t.models.names), func(name form.Text) bool { return !usable(b, name) })
	}
	return len(t.models.names) > 0
}

// refusedModel returns which rule refuses a model, and what that is; "" if none
// does.
func (b *builder) refusedModel(m Model, policies policy.Set) (by policy.Rule, what string) {
	kind, file, _ := strings.Cut(m.ID, ":")
	provider := prefixOf(m.Name)
	if fileKind(kind) != "" {
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
func (b *builder) checkPrice(p price) {
	known, ok := b.options.Policies.Price(p.model)
	if !ok && b.options.Known != nil {
		known, ok = b.options.Known(p.model)
	}
	if p.Src.Policies.IsUntrusted() || !ok || p.below(known) {
		p.Refused(policy.Budget, "a price for "+problem.Quote(p.model), "")
	}
}

func (b *builder) checkUnknownPrices(m *manifest) {
	if m.allowUnknownPrice {
		m.unknown.Refused(policy.Budget, "allow_unknown_price", "")
	}
}
