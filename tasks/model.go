package tasks

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// laterProviders are those that are known only by name.
var laterProviders = []string{"cohere"}

// supportedProviders returns the prefixes of models that can be called without an endpoint in the manifest.
func supportedProviders() []string { return append(kinds.Prefixes(), "script", "replay") }

// fileKind returns what the files are called that a provider plays its models
// from: written scripts and recordings; "" if it is a real one.
func fileKind(provider string) string {
	return map[string]string{"script": "script", "replay": "recording"}[provider]
}

const maxModels = 10 // of a fallback list

// modelChain is a model, and those that stand in for it one after the other.
type modelChain struct {
	names []form.Text
	wrong bool // there is one, and its problem is recorded

	ofCommand bool // it comes from a command's file
}

var modelsForm = form.Of[modelChain]{Type: form.Type{Name: "string"}.ListOr(), Read: readChain}

// readChain reads one model, or a list of them.
func readChain(v form.Value) (modelChain, bool) {
	if !v.IsList() {
		t, ok := v.Filled()
		if !ok {
			return modelChain{wrong: true}, true
		}
		return modelChain{names: []form.Text{t}}, true
	}
	names, ok := form.UpTo(maxModels, form.ListOf(form.Filled)).Read(v)
	if ok && len(v.Node.Content) == 0 {
		v.Problem(v.Label+" is empty", "add at least one model, or remove it")
	}
	for i, n := range names {
		if slices.ContainsFunc(names[:i], func(before form.Text) bool { return before.S == n.S }) {
			n.Problem(fmt.Sprintf("duplicate model %s in %s", problem.Quote(n.S), v.Label), "keep one of them")
		}
	}
	return modelChain{names: names, wrong: len(names) == 0}, true
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

// fileModel resolves the name of a model that is a file.
func fileModel(kind, file, dir string) (m Model, what, fix string) {
	if file == "" {
		return Model{}, "missing file after " + kind + ":", fmt.Sprintf("write %s:FILE", kind)
	}
	path := form.ResolvePath(dir, file)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return Model{}, fmt.Sprintf("%s %s: %s", fileKind(kind), problem.Quote(file), form.Missing(err)), "check its path"
	}
	return Model{ID: kind + ":" + path, Name: kind + ":" + file}, "", ""
}

const modelForm = "write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE"

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

// prefixOf returns the provider that a model's name starts with.
func prefixOf(name string) string {
	prefix, _, _ := strings.Cut(name, "/")
	return prefix
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
