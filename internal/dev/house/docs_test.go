package house

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// documents returns the paths of the documents for users.
func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "SECURITY.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "examples/*.md", "examples/*/README.md", "examples/*/*/README.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	if len(all) < 30 {
		t.Fatalf("only %d documents were found", len(all))
	}
	return all
}

// yamlBlock is a block of a document that is a manifest or some of its keys.
var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestManifestsOfTheDocuments loads every YAML block of every document, in a directory with
// the files that the blocks name.
func TestManifestsOfTheDocuments(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "at")
	for _, name := range []string{
		"at/docs/agents.md", "at/shop/main.go", "at/model.yaml", "at/repos.txt", "at/team/skills/x/SKILL.md", "at/tools/count.ts", "at/guard.ts",
		"at/guard.sh", "at/record.sh", "at/scripts/ioutil.sh", "at/x/main.go", "shop/main.go", "services/pay/.git/HEAD", "services/ledger/.git/HEAD",
	} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const event = `{"issue": {"number": 7, "title": "Crash", "body": "It crashes.", "updated_at": "2029-01-01T00:00:00Z"}, "comment": {"body": "Fix it."}, "repository": {"full_name": "acme/api"}}`
	if err := os.WriteFile(filepath.Join(top, "event.json"), []byte(event), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": "/h", "GITHUB_EVENT_PATH": filepath.Join(top, "event.json")}
	n := 0
	for _, name := range documents(t) {
		for _, block := range yamlBlock.FindAllStringSubmatch(read(t, name), -1) {
			if strings.HasPrefix(block[1], "version: 1\nmax_profile:") {
				continue // the policy below
			}
			n++
			text := completed(block[1])
			file := filepath.Join(dir, "block.yaml")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			getenv := func(name string) string { return cmp.Or(env[name], "7") }
			if _, err := expand.Load(t.Context(), []string{file}, tasks.Options{Dir: dir, Getenv: getenv}); err != nil {
				var problems problem.List
				errors.As(err, &problems)
				t.Errorf("%s: %v\n%v\n%s", name, err, problems, text)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d YAML blocks were found", n)
	}
}

// completed returns the manifest of a block: its text, and the keys that it leaves out. A block
// with keys of a task becomes that task.
func completed(block string) string {
	has := func(path string) bool {
		return slices.ContainsFunc(manifest.EveryKey(), func(k form.Key) bool { return k.Path == path })
	}
	if first, _, _ := strings.Cut(block, ":"); !has(first) && has("tasks[]."+first) {
		block = "tasks:\n  - id: a\n    prompt: Look.\n    " + strings.ReplaceAll(block, "\n", "\n    ") + "\n"
	}
	for _, line := range []string{"version: 1", "model: openai/gpt-5-mini", "vars: {what: zod}", "tasks: [{id: a, prompt: Look.}]"} {
		if key, _, _ := strings.Cut(line, " "); !strings.HasPrefix(block, key) && !strings.Contains(block, "\n"+key) {
			block += line + "\n"
		}
	}
	return block
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestThePolicyOfTheDocs loads the example of docs/policy.md, which has every key.
func TestThePolicyOfTheDocs(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(read(t, "docs/policy.md"))
	if block == nil {
		t.Fatal("docs/policy.md has no YAML block")
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(block[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := manifest.LoadPolicy(t.Context(), file, tasks.Options{Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if p.MaxProfile == nil || p.Sandbox == "" || p.Run.USD != 5*money.Dollar || p.Day.USD != 50*money.Dollar || len(p.Protect) != 1 || len(p.Rules) != 16 || len(p.Prices) != 1 {
		t.Errorf("policy %+v", p)
	}
}

// README is what fits on a few screens: the documents have the rest.
func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines, at most 150 are allowed", lines)
	}
}
