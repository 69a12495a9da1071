package house

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// TestManifestsOfTheReadmeAreValid loads every YAML block of README, tools.md and
// sandbox.md in a directory with the files that they name.
func TestManifestsOfTheReadmeAreValid(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"docs/agents.md", "shop/main.go", "model.yaml", "team/skills/x/SKILL.md"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "README.md")+read(t, "docs/tools.md")+read(t, "docs/sandbox.md"), -1)
	if len(blocks) < 3 {
		t.Fatalf("README and docs/tools.md have %d YAML blocks", len(blocks))
	}
	for i, b := range blocks {
		file := filepath.Join(dir, fmt.Sprintf("block%d.yaml", i))
		if err := os.WriteFile(file, []byte(b[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := tasks.Load(t.Context(), []string{file}, tasks.Options{Dir: dir, Getenv: func(string) string { return "/h" }}); err != nil {
			var problems tasks.Problems
			errors.As(err, &problems)
			t.Errorf("YAML block %d: %v\n%v", i, err, problems)
		}
	}
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
	p, err := tasks.LoadPolicy(t.Context(), file, tasks.Options{Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if p.MaxProfile == nil || p.Sandbox == "" || p.Run.USD != 5*money.Dollar || p.Day.USD != 50*money.Dollar || len(p.Protect) != 1 || len(p.Rules) != 15 || len(p.Prices) != 1 {
		t.Errorf("policy %+v", p)
	}
}
