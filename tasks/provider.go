package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scriptPrefix begins the name of a scripted model.
const scriptPrefix = "script:"

// supportedProviders are the prefixes of models that this release can call,
// laterProviders those that it knows.
var (
	supportedProviders = []string{"openai", "script"}
	laterProviders     = []string{
		"replay", "anthropic", "google", "openrouter", "ollama", "azure", "bedrock", "vertex", "mistral", "groq", "deepseek",
		"xai", "together", "fireworks", "cerebras", "cohere", "lmstudio",
	}
)

// modelName is the name of a model as it is written, and as a job has it.
type modelName struct {
	written string
	full    string
}

// model resolves the name of a model. A script's path is relative to dir. What
// is wrong with the name, if anything, is returned in words.
func (c *collector) model(name, dir string) (m modelName, what, fix string) {
	const form = "write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE"
	what, fix = c.provider(name)
	if what != "" {
		return modelName{}, what, fix
	}
	if !strings.HasPrefix(name, scriptPrefix) {
		if _, id, _ := strings.Cut(name, "/"); strings.TrimSpace(id) == "" || strings.ContainsAny(id, " \t\r\n") {
			return modelName{}, fmt.Sprintf("%s names no model", quote(name)), form
		}
		return modelName{name, name}, "", ""
	}
	file := strings.TrimPrefix(name, scriptPrefix)
	if file == "" {
		return modelName{}, "script: names no file", "write script:FILE"
	}
	path := resolvePath(dir, file)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return modelName{}, fmt.Sprintf("the script %s %s", quote(file), missing(err)), "check its path"
	}
	return modelName{name, scriptPrefix + path}, "", ""
}

// provider checks the prefix of a model's name.
func (c *collector) provider(name string) (what, fix string) {
	const form = "write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE"
	i := strings.IndexAny(name, "/:")
	if i <= 0 {
		return fmt.Sprintf("the model %s lacks its provider", quote(name)), form
	}
	prefix := name[:i]
	byColon := name[i] == ':'
	switch {
	case slices.Contains(supportedProviders, prefix) && byColon == (prefix == "script"):
		return "", ""
	case slices.Contains(supportedProviders, prefix):
		return fmt.Sprintf("the model %s is not written as models of %s are", quote(name), prefix), form
	case slices.Contains(laterProviders, prefix):
		return fmt.Sprintf("the provider %s is not supported yet", quote(prefix)), "use openai/MODEL or script:FILE"
	}
	return "unknown provider " + quote(prefix), c.suggest(prefix, slices.Concat(supportedProviders, laterProviders), "known providers: ")
}

// resolvePath makes a path of a file absolute.
func resolvePath(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
