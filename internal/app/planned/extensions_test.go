package planned

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestExtensionsOfAPlanAreThoseThatItsJobsCanStart(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"node", "found-server"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	plan := &tasks.Plan{
		MCP: []tasks.MCPServer{
			{Name: "local", Process: tasks.Process{Command: []string{"server", "--stdio"}}},
			{Name: "remote", Remote: &tasks.Remote{URL: "https://mcp.example.com"}, Optional: true},
		},
		Scripts: tasks.Scripts{Runtime: "auto", ToolFiles: []tasks.ScriptFile{{Name: "tools/a.ts"}}},
		LSP: &tasks.LSP{Servers: []tasks.LanguageServer{
			{Name: "here", IfFound: true, Process: tasks.Process{Command: []string{"found-server"}}},
			{Name: "elsewhere", IfFound: true, Process: tasks.Process{Command: []string{"no-such-server"}}},
		}},
		Hooks: []tasks.Hook{{Name: "check", Command: []string{"./check.sh"}}},
	}
	var got []string
	all := Extensions(plan, func(name string) string { return map[string]string{"PATH": bin}[name] })
	for _, x := range all {
		got = append(got, x.Kind+" "+x.Name+": "+x.String())
	}
	want := []string{
		"mcp local: server --stdio", "mcp remote: https://mcp.example.com (optional)", "js js: " + filepath.Join(bin, "node") + " tools/a.ts",
		"lsp here: found-server (optional)", "hook check: ./check.sh",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var text strings.Builder
	if err := PrintExtensions(&text, all[:1]); err != nil || text.String() != "\nextensions\n  mcp local: server --stdio\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
	text.Reset()
	if err := PrintExtensions(&text, nil); err != nil || text.String() != "" {
		t.Errorf("without extensions: %q, %v", text.String(), err)
	}
	if err := PrintGrants(&text, []tasks.Grant{{Kind: "mcp", Name: "local", Workspace: true, Dirs: []string{"/data"}}}); err != nil || text.String() != "\ngrants\n  mcp local may write the workspace, /data\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
}
