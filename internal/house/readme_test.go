package house

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/millhand/millhand/tasks"
)

// TestManifestsOfTheReadmeAreValid loads every YAML block of README and tools.md in a
// folder that has what they name.
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
