package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

func TestGrantsAreThoseOfWriteKeys(t *testing.T) {
	text := oneTask + `profile: review
mcp: {files: {command: [files], write: ["workspace:.", data]}, reader: {command: [reader], read: [data]}, remote: {type: remote, url: "https://example.com"}}
tools:
  fmt: {description: Formats., command: gofmt -w ., write: ["workspace:."]}
  count: {description: Counts., command: wc -w}
hooks: {before_tool: [{run: guard}, {run: record, write: ["workspace:."]}]}
lsp: {gopls: {write: [data]}}
`
	plan, err := loadText(t, text, map[string]string{"data/x": ""}, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	data := plan.MCP[0].Process.Write
	want := []tasks.Grant{{Kind: "tool", Name: "fmt", Workspace: true, Dirs: nil}, {Kind: "mcp", Name: "files", Workspace: true, Dirs: data}, {Kind: "lsp", Name: "gopls", Workspace: false, Dirs: data}, {Kind: "hook", Name: "before_tool[1]", Workspace: true, Dirs: nil}}
	if diff := cmp.Diff(want, plan.Grants()); diff != "" || len(data) != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	above, err := loadText(t, oneTask+"mcp: {files: {command: [files], write: [.]}, other: {command: [files], write: [data]}}\n", map[string]string{"data/x": ""}, tasks.Overrides{})
	if err != nil || !above.MCP[0].Process.Workspace || above.MCP[1].Process.Workspace {
		t.Errorf("a directory that contains the repository: %v", err)
	}
	p := plan.Jobs[0].Profile
	if _, barred := p.Bars(".github/workflows/ci.yml"); !barred || p.MayChange() {
		t.Error("a granted program can change protected files")
	}
	if d := p.Decide(permission.Need("bash", "git log")); !d.Allowed() {
		t.Errorf("the grant limits the agent: %s", d.Because())
	}
}

func TestMistakesInGrants(t *testing.T) {
	for text, want := range map[string]string{
		`mcp: {a: {command: [a], write: ["workspace:docs"]}}`:      `m.yaml:4:33: "workspace:docs" is not a path; remove it, or write a path relative to the manifest`,
		`mcp: {a: {command: [a], read: ["workspace:."]}}`:          `m.yaml:4:32: "workspace:." is not a path; remove it, or write a path relative to the manifest`,
		`lsp: {gopls: {write: ["workspace:."]}}`:                   `m.yaml:4:23: "workspace:." is not a path; remove it, or write a path relative to the manifest`,
		`tools: {a: {description: A., command: a, write: [data]}}`: `m.yaml:4:50: entry 1 of "write" must be one of workspace:., not "data"; write one of them`,
		`hooks: {run_start: [{run: a, write: ["workspace:."]}]}`:   `m.yaml:4:30: unknown key "write"; known here: optional, run, time`,
	} {
		_, err := loadText(t, oneTask+text+"\n", nil, tasks.Overrides{})
		if diff := cmp.Diff([]string{want}, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
