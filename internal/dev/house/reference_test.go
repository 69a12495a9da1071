package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

// keyRow returns the row of a key in docs/manifest.md.
func keyRow(k form.Key) string {
	def := ""
	if k.Default != "" {
		def = "`" + k.Default + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Path, k.Type, def, strings.NewReplacer("|", `\|`, "<", `\<`).Replace(k.Doc))
}

// docs/manifest.md has every key of a manifest, and every function of an if.
func TestManifestPage(t *testing.T) {
	page := read(t, "docs/manifest.md")
	for _, k := range manifest.EveryKey() {
		if !strings.Contains(page, keyRow(k)) {
			t.Errorf("docs/manifest.md lacks the row\n%s", keyRow(k))
		}
	}
	if _, keys, _ := strings.Cut(page, "\n## Keys\n"); strings.Count(keys, "\n| `") != len(manifest.EveryKey()) {
		t.Errorf("docs/manifest.md has %d rows of keys for %d keys", strings.Count(keys, "\n| `"), len(manifest.EveryKey()))
	}
	for _, name := range []string{"contains", "startsWith", "endsWith", "matches", "repo.has", "include", "exclude"} {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("docs/manifest.md lacks %s", name)
		}
	}
}

// docs/models.md has the variables and the endpoint of every provider.
func TestModelsPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| models | key | endpoint | default endpoint | not read |\n|---|---|---|---|---|\n")
	for _, name := range kinds.Names() {
		if !strings.HasPrefix(name, "openai-") { // kinds of endpoints, not prefixes of models
			table.WriteString(variablesRow(name))
		}
	}
	if want := "\n" + table.String() + "\n"; !strings.Contains(read(t, "docs/models.md"), want) {
		t.Errorf("docs/models.md lacks the table\n%s", want)
	}
}

// variablesRow returns the row of a provider in docs/models.md.
func variablesRow(name string) string {
	kind, _ := provider.Lookup(name)
	var base []string
	if kind.BaseURL != "" {
		base = []string{kind.BaseURL}
	}
	var row strings.Builder
	row.WriteString("| `" + name + "/` |")
	for _, values := range [][]string{kind.KeyEnv, kind.BaseEnv, base, kind.Unread} {
		if len(values) > 0 {
			row.WriteString(" `" + strings.Join(values, "`, `") + "`")
		}
		row.WriteString(" |")
	}
	return row.String() + "\n"
}
