package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/world"
)

var update = flag.Bool("update", false, "update the golden files")

// explained is the manifest whose profiles the golden file explains.
const explained = `version: 1
model: openai/gpt-5-mini
profiles:
  mine:
    extends: build
    permission:
      edit: {"*": allow, ".github/**": deny}
      bash: {"git push *": deny, "rm -rf *": deny}
  list:
    extends: edit
    permission:
      bash: {"*": deny, "go test *": allow, "git *": allow, "git push *": deny, "npx eslint *": allow}
      external_directory: {"$WORK/shared/*": allow}
  owner:
    extends: mine
    git: write
tasks: [{id: one, prompt: Look.}]
`

// TestExplanations compares the output of policy explain with a golden file. Each
// case starts with "$ PROFILE | TOOL | SUBJECT". Review the diff when it changes.
func TestExplanations(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Abs("testdata/explain.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(work, "ws")
	for _, dir := range []string{"ws/src", "ws/.git/hooks", "shared", "home"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"ws/m.yaml": strings.ReplaceAll(explained, "$WORK", work), "ws/.env": "K=1\n", "ws/.env.example": "K=\n", "ws/src/a.go": "package a\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(ws, "out")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(ws)
	env := map[string]string{"HOME": filepath.Join(work, "home"), "PATH": os.Getenv("PATH")}
	var want, got strings.Builder
	n := 0
	for l := range strings.Lines(string(text)) {
		want.WriteString(l)
		asked, isCase := strings.CutPrefix(l, "$ ")
		switch {
		case strings.HasPrefix(l, "#"), l == "\n":
			got.WriteString(l)
		case isCase:
			n++
			got.WriteString(l)
			parts := strings.SplitN(strings.TrimSuffix(asked, "\n"), " | ", 3)
			subject := strings.ReplaceAll(strings.ReplaceAll(parts[2], "$WORK", work), "␤", "\n")
			var out strings.Builder
			exit := Main(t.Context(), []string{"millhand", "policy", "explain", "--profile", parts[0], "--manifest", "m.yaml", parts[1], subject},
				world.World{In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(name string) string { return env[name] }, Now: time.Now})
			said := strings.ReplaceAll(out.String(), work, "$WORK")
			if first, _, _ := strings.Cut(said, "\n"); exit != 2 && first != map[int]string{0: "allow", 3: "deny"}[exit] {
				t.Errorf("%s: exit code %d, first line %q", l, exit, first)
			}
			fmt.Fprintf(&got, "%s", said)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n < 50 {
		t.Errorf("the golden file explains only %d lines", n)
	}
}
