package house

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

// fewestShared is the number of keys below one key that are listed only once if another key has the same ones.
const fewestShared = 3

// keyRow is a row of docs/manifest.md.
type keyRow struct {
	key    string
	as     string   // key whose rows are also those of keys below this one; "" for none
	others []string // names of these keys, if others are listed; nil for all
	entry  string   // path of what the keys are in: repos[] of repos
	like   string   // the same of as
	form.Key
}

// keyRows returns the rows of keys: each key, except below one that has the same keys as one before.
func keyRows(all []form.Key) []keyRow {
	var rows []keyRow
	leaveOut := map[string]bool{}
	for _, k := range all {
		if leaveOut[k.Path] {
			continue
		}
		row := keyRow{key: k.Path, Key: k}
		mine, entry := below(all, k.Path)
		var shared []string
		for _, earlier := range rows {
			its, like := below(all, earlier.key)
			if both := sharedKeys(its, mine); len(both) > len(shared) && len(both) >= fewestShared {
				row.as, row.entry, row.like, shared = earlier.key, entry, like, both
			}
		}
		for _, path := range shared {
			leaveOut[mine[path].Path] = true
		}
		if len(shared) < len(mine) {
			row.others = slices.DeleteFunc(shared, func(path string) bool { return strings.ContainsAny(path, ".[") })
		}
		rows = append(rows, row)
	}
	return rows
}

// below returns the keys below a key, by their paths below its entries: those of repos by "path" and "github.org". The
// path of an entry is returned, too: repos[].
func below(all []form.Key, path string) (found map[string]form.Key, entry string) {
	found = map[string]form.Key{}
	for _, k := range all {
		rest, ok := strings.CutPrefix(k.Path, path)
		if !ok || rest == "" || rest[0] != '.' && rest[0] != '[' {
			continue
		}
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "[]"), ".")
		if name, after, ok := strings.Cut(rest, "."); ok && name == strings.ToUpper(name) {
			rest = after // of a map: MODEL.input
		}
		found[rest] = k
		entry = strings.TrimSuffix(strings.TrimSuffix(k.Path, rest), ".")
	}
	return found, entry
}

// sharedKeys returns the paths of keys that are the same in two mappings, with everything below them.
func sharedKeys(one, other map[string]form.Key) []string {
	var differ []string
	for _, m := range []map[string]form.Key{one, other} {
		for path := range m {
			a, b := one[path], other[path]
			if a.Doc != b.Doc || a.Default != b.Default || a.Type.String() != b.Type.String() || a.Required != b.Required {
				differ = append(differ, path)
			}
		}
	}
	same := slices.Sorted(maps.Keys(other))
	return slices.DeleteFunc(same, func(path string) bool {
		return slices.ContainsFunc(differ, func(d string) bool {
			return d == path || strings.HasPrefix(d, path+".") || strings.HasPrefix(d, path+"[")
		})
	})
}

// anchor returns the anchor of a key: that of tasks[].repos is tasks.repos.
func anchor(key string) string { return strings.ReplaceAll(key, "[]", "") }

func (r keyRow) String() string {
	def := ""
	if r.Default != "" {
		def = "`" + r.Default + "`"
	}
	doc := strings.NewReplacer("|", `\|`, "<", `\<`).Replace(r.Doc)
	if r.as != "" {
		keys := "keys of `" + r.entry + "`"
		if r.others != nil {
			keys = "`" + strings.Join(r.others, "`, `") + "`"
		}
		doc += fmt.Sprintf("; %s: as in [`%s`](#%s)", keys, r.like, anchor(r.as))
	}
	return fmt.Sprintf("| <a id=%q></a>`%s` | %s | %s | %s |\n", anchor(r.key), r.key, r.Type, def, doc)
}

// withRows returns a page with the rows of keys as they have to be: each where one of the key is, a new one after the
// row before it.
func withRows(page string, rows []keyRow) string {
	const line = "(?m)^\\| (?:<a id=\"[^\"]*\"></a>)?`%s` \\|.*\n"
	head, keys, _ := strings.Cut(page, "\n## Keys\n")
	for i, r := range rows {
		own := regexp.MustCompile(fmt.Sprintf(line, regexp.QuoteMeta(r.key)))
		if at := own.FindStringIndex(keys); at != nil {
			keys = keys[:at[0]] + r.String() + keys[at[1]:]
		} else if i > 0 {
			keys = strings.Replace(keys, rows[i-1].String(), rows[i-1].String()+r.String(), 1)
		}
	}
	keys = regexp.MustCompile(fmt.Sprintf(line, "([^`]*)")).ReplaceAllStringFunc(keys, func(row string) string {
		if slices.ContainsFunc(rows, func(r keyRow) bool { return r.String() == row }) {
			return row
		}
		return ""
	})
	return head + "\n## Keys\n" + keys
}

// docs/manifest.md has every key of a manifest once, or a link to the same keys of another one, and every function of
// an if. With -update its rows are written; headings and texts are not.
func TestManifestPage(t *testing.T) {
	const file = "docs/manifest.md"
	page, rows := read(t, file), keyRows(manifest.EveryKey())
	if *update {
		page = withRows(page, rows)
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rows {
		if strings.Count(page, r.String()) != 1 {
			t.Errorf("docs/manifest.md lacks the row, which -update adds\n%s", r)
		}
	}
	if _, keys, _ := strings.Cut(page, "\n## Keys\n"); strings.Count(keys, "\n| ")-strings.Count(keys, "\n|---") != len(rows) {
		t.Errorf("docs/manifest.md has other rows than the %d of keys, which -update removes", len(rows))
	}
	for _, name := range []string{"contains", "startsWith", "endsWith", "matches", "repo.has", "include", "exclude"} {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("docs/manifest.md lacks %s", name)
		}
	}
}

// Each key has a row, or the links of the rows of the keys above it lead to one with the same meaning.
func TestEveryKeyIsFound(t *testing.T) {
	all, rows := manifest.EveryKey(), map[string]keyRow{}
	for _, r := range keyRows(all) {
		rows[r.key] = r
	}
	for _, k := range all {
		path := k.Path
		for range 3 {
			path = followed(all, rows, path)
		}
		if r := rows[path]; r.Doc != k.Doc || r.Default != k.Default || r.Type.String() != k.Type.String() {
			t.Errorf("%s: found %q: %+v", k.Path, path, r)
		}
	}
	for path, want := range map[string]string{
		"tasks[].repos": "repos", "tasks[].limits": "limits", "repos[].gitlab": "repos[].github", "hooks.run_end": "hooks.run_start", "repos": "",
	} {
		if rows[path].as != want {
			t.Errorf("%s: the keys below it are as in %q, want %q", path, rows[path].as, want)
		}
	}
}

// followed returns the path that a link leads to, from a key without a row.
func followed(all []form.Key, rows map[string]keyRow, path string) string {
	if _, ok := rows[path]; ok {
		return path
	}
	for _, r := range rows {
		if rest, ok := strings.CutPrefix(path, r.entry); ok && r.as != "" && strings.HasPrefix(rest, ".") {
			its, _ := below(all, r.as)
			if k, ok := its[rest[1:]]; ok {
				return k.Path
			}
		}
	}
	return path
}

// docs/models.md has the variables and the endpoint of every provider.
func TestModelsPageHasEveryProvider(t *testing.T) {
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

// The comparison has the numbers of providers and of exit codes that the references list.
func TestCountsOfTheComparison(t *testing.T) {
	page := read(t, "docs/comparison.md")
	providers := slices.DeleteFunc(slices.Clone(kinds.Names()), func(name string) bool { return strings.HasPrefix(name, "openai-") }) // as above
	codes := map[string]bool{}
	_, table, _ := strings.Cut(read(t, "docs/cli.md"), "## Exit codes\n")
	table, _, _ = strings.Cut(table, "\n\nIf jobs")
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllStringSubmatch(table, -1) {
		for code := range strings.SplitSeq(row[1], ", ") {
			codes[code] = true
		}
	}
	for _, want := range []string{fmt.Sprintf("| models | %d providers, own servers |", len(providers)), fmt.Sprintf("| exit codes | %d, by reason |", len(codes))} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/comparison.md lacks %q", want)
		}
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
