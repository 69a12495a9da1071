package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/tasks"
)

// keyRow returns the row of a key in docs/manifest.md.
func keyRow(k tasks.Key) string {
	def := ""
	if k.Default != "" {
		def = "`" + k.Default + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Path, k.Type, def, strings.ReplaceAll(k.Doc, "|", `\|`))
}

// docs/manifest.md has every key of a manifest, every function of an if, and the
// variables of every provider.
func TestManifestPage(t *testing.T) {
	page := read(t, "docs/manifest.md")
	for _, k := range tasks.Keys() {
		if !k.NotSupported && !strings.Contains(page, keyRow(k)) {
			t.Errorf("docs/manifest.md lacks the row\n%s", keyRow(k))
		}
	}
	for _, name := range []string{"contains", "startsWith", "endsWith", "matches", "repo.has", "include", "exclude"} {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("docs/manifest.md lacks %s", name)
		}
	}
	for _, name := range provider.Names() {
		if row := variablesRow(name); !strings.HasPrefix(name, "openai-") && !strings.Contains(page, row) {
			t.Errorf("docs/manifest.md lacks the row\n%s", row)
		}
	}
}

// variablesRow returns the row of a provider in docs/manifest.md.
func variablesRow(name string) string {
	kind, _ := provider.Lookup(name)
	var row strings.Builder
	row.WriteString("| `" + name + "/` |")
	for _, variables := range [][]string{kind.KeyEnv, kind.BaseEnv, kind.Unread} {
		if len(variables) > 0 {
			row.WriteString(" `" + strings.Join(variables, "`, `") + "`")
		}
		row.WriteString(" |")
	}
	return row.String()
}
