package published

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// How long the installation and the run of a row may take.
const (
	installTime = 10 * time.Minute
	runTime     = 3 * time.Minute
)

// files are those of the repository, one for each language.
var files = map[string]string{
	"a.txt": "one\n", "go.mod": "module example.com/m\n\ngo 1.24\n", "main.go": "package main\n\nvar name string = \"x\"\n\nfunc main() { println(name) }\n",
	"tsconfig.json": `{"compilerOptions": {"strict": true, "types": []}}`, "main.ts": "export const name: string = 'x'\n", "main.py": "name: str = \"x\"\n",
	"main.sh": "greet() {\n  echo hello\n}\n", "main.yml": "name: [x]\n", "main.css": "a {\n  color: red;\n}\n",
	"main.html": "<html><head><style>\na {\n  color: red;\n}\n</style></head></html>\n", "main.json": "{\"name\": 1}\n",
}

// TestPublished runs each row. A row that can't be installed in its time is skipped.
func TestPublished(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-published runs it")
	}
	if out, err := exec.CommandContext(t.Context(), "npm", "view", "lodash@4.17.21", "version").CombinedOutput(); err != nil {
		if slices.Contains(strings.Split(os.Getenv("MILLHAND_REQUIRE"), ","), "npm") {
			t.Fatalf("MILLHAND_REQUIRE names npm, whose registry can't be reached: %v: %s", err, out)
		}
		t.Skipf("npm's registry can't be reached: %v: %s", err, out)
	}
	for _, r := range rows {
		t.Run(r.kind+" "+r.name(), func(t *testing.T) {
			dir := installed(t, strings.Fields(r.packages))
			r.check(t, dir, "node")
			if r.bun {
				r.check(t, dir, "bun")
			}
		})
	}
}

// name is the first package, with its program if it has several.
func (r row) name() string {
	name, _, _ := strings.Cut(r.packages, " ")
	if strings.HasPrefix(r.entry, "bin/vscode") {
		name += " " + filepath.Base(r.entry)
	}
	return name
}

// installed returns the directory with packages, which are complete once it has its name.
func installed(t *testing.T, packages []string) string {
	t.Helper()
	command := append([]string{"npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", "."}, packages...)
	if strings.Contains(packages[0], "@v") {
		command = []string{"go", "install", packages[0]}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "millhand-tests", "published", strings.ReplaceAll(strings.Join(packages, "+"), "/", "+"))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".temp") //nolint:usetesting // renamed, so in the same file system
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithTimeout(t.Context(), installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = temp, append(os.Environ(), "GOBIN="+temp, "GOFLAGS="), 5*time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		t.Skipf("not installed within %s: %s", installTime, out)
	case err != nil:
		t.Fatalf("install %s: %v\n%s", packages, err, out)
	}
	if err := os.Chmod(temp, 0o755); err != nil { //nolint:gosec // other users run what is in it
		t.Fatal(err)
	}
	if err := os.Rename(temp, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// check runs a job that uses what is installed in a directory, plugins with a runtime.
func (r row) check(t *testing.T, dir, runtime string) {
	t.Helper()
	at := t.TempDir()
	scripts.MakeRepo(t, filepath.Join(at, "repo"), files)
	manifest, turns := r.job(filepath.Join(dir, "node_modules", packageName(r.packages)), dir, runtime)
	for name, text := range map[string]string{"millhand.yaml": manifest, "turns.yaml": turns} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "millhand", "run", "millhand.yaml", "--report-dir", "run")
	cmd.Dir, cmd.Env, cmd.WaitDelay = at, environment(t, runtime), 10*time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the run has not ended within %s\n%s", runTime, out)
	}
	if r.refused != "" {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), r.refused) {
			t.Errorf("got %v, want %q\n%s", err, r.refused, out)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.checkReport(t, filepath.Join(at, "run", "report.json"), string(out))
}

// environment is that of a run, with Bun first on PATH if it is the runtime.
func environment(t *testing.T, runtime string) []string {
	t.Helper()
	if runtime != "bun" {
		return os.Environ()
	}
	dir := installed(t, []string{"bun@1.4.5"})
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "@oven", "*", "bin", "bun"))
	for _, program := range found {
		if err = exec.CommandContext(t.Context(), program, "--version").Run(); err == nil {
			return append(os.Environ(), "PATH="+filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		}
	}
	t.Skipf("no Bun for this machine among %q: %v", found, err)
	return nil
}

var version = regexp.MustCompile(`^(.+)@[^@]+$`)

// packageName returns the name of the first of several packages.
func packageName(packages string) string {
	name, _, _ := strings.Cut(packages, " ")
	return version.FindStringSubmatch(name)[1]
}

// job returns the manifest and the turns of a row, whose first package is in a directory below all.
func (r row) job(dir, all, runtime string) (manifest, turns string) {
	command := append([]string{"node", filepath.Join(dir, r.entry)}, r.args...)
	name := "own"
	for _, known := range []string{"gopls", "typescript", "pyright"} {
		if strings.HasPrefix(filepath.Base(packageName(r.packages)), known) {
			name = known
		}
	}
	if name == "gopls" {
		command = []string{filepath.Join(all, name)}
	}
	settings := ""
	if r.settings != "" {
		settings = ", " + r.settings
	}
	manifest = "version: 1\nmodel: script:turns.yaml\nprofile: own\nrepos: [{path: repo}]\ntasks: [{id: work, prompt: Do it.}]\n"
	server := fmt.Sprintf("{command: %s, read: [%q]%s}", strings.ReplaceAll(fmt.Sprintf("%q", command), `" "`, `", "`), all, settings)
	switch r.kind {
	case "mcp":
		manifest += fmt.Sprintf("profiles: {own: {extends: edit, permission: {'s_*': allow}}}\nmcp: {s: %s}\n", strings.TrimSuffix(server, "}")+", timeout: 2m}")
		turns = fmt.Sprintf("  - calls: [{tool: s_%s, args: {%s}}]\n  - {expect: [%q], text: Done.}\n", r.call, r.input, r.result)
	case "lsp":
		manifest += fmt.Sprintf("profiles: {own: {extends: edit}}\nlsp: {%s: %s}\nlsp_diagnostics: {wait: 20s}\n", name, server)
		turns = r.edits()
	default:
		manifest += fmt.Sprintf("profiles: {own: {extends: build}}\nplugins: [{path: %q}]\njs: {hook_timeout: 30s, runtime: %s}\n", dir, runtime)
		turns = "  - calls: [{tool: read, args: {filePath: a.txt}}, {tool: bash, args: {command: git reset --hard}}]\n  - text: Done.\n"
	}
	return manifest, "version: 1\nturns:\n" + turns
}

// edits returns the turns that break a file, repair it, and ask about it.
func (r row) edits() string {
	edit := func(from, to string) string {
		return fmt.Sprintf("calls: [{tool: edit, args: {filePath: %s, oldString: %q, newString: %q}}]", r.file, from, to)
	}
	clean := fmt.Sprintf("Edit applied successfully to %s .1 replacement.\\.$", regexp.QuoteMeta(r.file))
	broken := "LSP errors detected in this file, please fix:\n<diagnostics file=\"" + regexp.QuoteMeta(r.file) + "\">\nERROR [^\n]*" + r.problem
	if r.problem == "" {
		broken = clean
	}
	call, input, result := r.call, r.input, r.result
	if call == "" {
		call, input, result = "documentSymbol", `"line": 1, "character": 1`, regexp.QuoteMeta(r.file)+":[0-9]+:[0-9]+"
	}
	return fmt.Sprintf("  - %s\n  - expect: [%q]\n    %s\n  - expect: [%q]\n    calls: [{tool: lsp, args: {\"operation\": %s, \"filePath\": %s, %s}}]\n  - {expect: [%q], text: Done.}\n",
		edit(r.good, r.bad), broken, edit(r.bad, r.good), clean, call, r.file, input, result)
}

// checkReport compares the report with what is expected.
func (r row) checkReport(t *testing.T, path, output string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Jobs []struct {
			Outcome    string
			Calls      []struct{ Tool, Status string }
			Extensions []struct {
				Kind, Status string
				Offered      int `json:"tools_offered"`
			}
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Jobs) != 1 || report.Jobs[0].Outcome != "passed" || len(report.Jobs[0].Extensions) == 0 || len(report.Jobs[0].Calls) == 0 {
		t.Fatalf("%+v\n%s", report, output)
	}
	job := report.Jobs[0]
	extension := job.Extensions[0]
	kind := map[string]string{"plugin": "js"}[r.kind] + strings.TrimPrefix(r.kind, "plugin")
	if extension.Kind != kind || extension.Status != "ready" || extension.Offered != r.tools && r.kind == "mcp" {
		t.Errorf("%+v\n%s", extension, output)
	}
	want := "completed"
	switch {
	case r.fails:
		want = "error"
	case r.guards:
		want = "denied"
	}
	if last := job.Calls[len(job.Calls)-1]; last.Status != want {
		t.Errorf("%+v is not %s\n%s", last, want, output)
	}
}

// TestTableOfTheDocument compares the table of docs/extension.md with the list.
func TestTableOfTheDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(scripts.Root(t), "docs", "extension.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n| published | works |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, r := range rows {
		want = append(want, fmt.Sprintf("| %s `%s` | %s |", map[string]string{"mcp": "MCP server", "lsp": "language server", "plugin": "plugin"}[r.kind], strings.TrimPrefix(strings.ReplaceAll(r.packages, " ", "` `"), "golang.org/x/tools/"), r.works))
	}
	if expected := strings.Join(want, "\n"); !found || strings.TrimSpace(table) != expected {
		t.Errorf("the table of docs/extension.md should be:\n%s", expected)
	}
}
