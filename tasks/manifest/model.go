package manifest

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// LaterProviders are those that are known only by name.
var LaterProviders = []string{"cohere"}

// SupportedProviders returns the prefixes of models that can be called without an endpoint in the manifest.
func SupportedProviders() []string { return append(kinds.Prefixes(), "script", "replay") }

// FileKind returns what the files are called that a provider plays its models
// from: written scripts and recordings; "" if it is a real one.
func FileKind(provider string) string {
	return map[string]string{"script": "script", "replay": "recording"}[provider]
}

const maxModels = 10 // of a fallback list

// ModelChain is a model, and those that stand in for it one after the other.
type ModelChain struct {
	Names []form.Text
	Wrong bool // there is one, and its problem is recorded

	OfCommand bool // it comes from a command's file
}

var modelsForm = form.Of[ModelChain]{Type: form.Type{Name: "string"}.ListOr(), Read: readChain}

// readChain reads one model, or a list of them.
func readChain(v form.Value) (ModelChain, bool) {
	if !v.IsList() {
		t, ok := v.Filled()
		if !ok {
			return ModelChain{Wrong: true}, true
		}
		return ModelChain{Names: []form.Text{t}}, true
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
	return ModelChain{Names: names, Wrong: len(names) == 0}, true
}

// FileModel resolves the name of a model that is a file.
func FileModel(kind, file, dir string) (m tasks.Model, what, fix string) {
	if file == "" {
		return tasks.Model{}, "missing file after " + kind + ":", fmt.Sprintf("write %s:FILE", kind)
	}
	path := userfile.Resolve(dir, file)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return tasks.Model{}, fmt.Sprintf("%s %s: %s", FileKind(kind), problem.Quote(file), userfile.Missing(err)), "check its path"
	}
	return tasks.Model{ID: kind + ":" + path, Name: kind + ":" + file}, "", ""
}

// ModelForm is how a model is written.
const ModelForm = "write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE"

// PrefixOf returns the provider that a model's name starts with.
func PrefixOf(name string) string {
	prefix, _, _ := strings.Cut(name, "/")
	return prefix
}
