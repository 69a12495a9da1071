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

// prefixOf returns the provider that a model's name starts with.
func prefixOf(name string) string {
	prefix, _, _ := strings.Cut(name, "/")
	return prefix
}
