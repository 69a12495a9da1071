package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// TestPromptsStateTestedBehavior holds the sentences in which prompts promise
// something of the runner, which promises.txtar quotes, to being there.
func TestPromptsStateTestedBehavior(t *testing.T) {
	var prompts strings.Builder
	for _, name := range []string{"build", "plan", "explore", "general", "rules"} {
		text, err := os.ReadFile(filepath.Join(scripts.Root(t), "internal", "session", "prompt", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		prompts.Write(text)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "script", "promises.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(script)) {
		sentence, ok := strings.CutPrefix(strings.TrimSpace(line), "# > ")
		if !ok {
			continue
		}
		if n++; !strings.Contains(prompts.String(), sentence) {
			t.Errorf("no prompt says %q any more: test what it says instead", sentence)
		}
	}
	if n < 7 {
		t.Errorf("only %d promises are tested", n)
	}
}

// TestTheExampleOfToolsHasEachTool reads what two scripts expect of the report: a tool that is added is in one of them.
func TestTheExampleOfToolsHasEachTool(t *testing.T) {
	for _, name := range permission.Tools() {
		file := "every_tool.txtar"
		if name == "lsp" { // it needs a language server
			file = "extension_example.txtar"
		}
		script, err := os.ReadFile(filepath.Join("testdata", "script", file))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^` + name + ` completed`).Match(script) {
			t.Errorf("%s has no call of %s: add one to its example", file, name)
		}
	}
}
