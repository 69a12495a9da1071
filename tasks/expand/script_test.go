package expand

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

var scriptFiles = map[string]string{
	".opencode/tool/count.ts": "", ".opencode/tool/types.d.ts": "", ".opencode/tools/list.js": "", ".opencode/tools/lib/deep.ts": "",
	"guard.ts": "", "empty/": "", "pkg/package.json": "{}", "notes.txt": "",
}

func TestScriptsAreFoundFromTheDirectoryOfTheManifest(t *testing.T) {
	p, err := loadText(t, oneTask+`
tools_from: [.opencode, guard.ts, "workspace:.opencode"]
plugins: [./guard.ts, {path: pkg, options: {level: 3}, optional: true}, "workspace:plugins/x.ts"]
js: {runtime: node, call_timeout: 5s, environment: {A: b}, read: [pkg], network: [npm]}
`, scriptFiles, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(p.Scripts.ToolFiles[1].Path)
	in := func(name string) string { return filepath.Join(dir, name) }
	want := tasks.Scripts{
		ToolFiles: []tasks.ScriptFile{{Name: ".opencode", Path: in(".opencode")}, {Name: "guard.ts", Path: in("guard.ts")}, {Name: "workspace:.opencode", Path: ".opencode", Workspace: true}},
		Plugins: []tasks.ScriptFile{
			{Name: "./guard.ts", Path: in("guard.ts")},
			{Name: "pkg", Path: in("pkg"), Options: []byte(`{"level":3}`), Optional: true},
			{Name: "workspace:plugins/x.ts", Path: "plugins/x.ts", Workspace: true},
		},
		Runtime: "node", CallTimeout: 5 * time.Second, HookTimeout: 10 * time.Second,
		Process: p.Scripts.Process,
	}
	if diff := cmp.Diff(want, p.Scripts); diff != "" {
		t.Errorf("scripts (-want +got):\n%s", diff)
	}
	if got := p.Scripts.Process; got.Environment["A"] != "b" || len(got.Read) != 1 || len(got.Network.Hosts) != 1 {
		t.Errorf("process %+v", got)
	}
	if diff := cmp.Diff([]string{in(".opencode/tool/count.ts"), in(".opencode/tools/list.js")}, tasks.ToolFilesIn(in(".opencode"))); diff != "" {
		t.Errorf("tool files (-want +got):\n%s", diff)
	}
}

func TestMistakesInScripts(t *testing.T) {
	for text, want := range map[string]string{
		`tools_from: [nope]`:                    `m.yaml:4:14: file "nope": not found; check its path; it is relative to the manifest`,
		`tools_from: [empty]`:                   `m.yaml:4:14: "empty" has no tool files; tool files are *.ts and *.js in its directories tool and tools`,
		`tools_from: [notes.txt]`:               `m.yaml:4:14: "notes.txt" is not a tool file; write the path of a .ts or .js file, or of a directory`,
		`tools_from: ["workspace:../x"]`:        `m.yaml:4:14: "workspace:../x" is outside of the repository; write a path relative to its root`,
		`plugins: [opencode-guard@1.0.0]`:       `m.yaml:4:11: "opencode-guard@1.0.0" is not a path; install the package, and write the path of its directory, such as ./node_modules/opencode-guard@1.0.0: millhand installs nothing`,
		`plugins: [empty]`:                      `m.yaml:4:11: "empty" has no package.json; write the path of the plugin's file, or of its package`,
		`plugins: [{options: {}}]`:              `m.yaml:4:11: missing key "path" in entry 1 of "plugins"; add path: FILE`,
		`js: {runtime: deno}`:                   `m.yaml:4:15: "runtime" must be one of auto, node, bun, not "deno"; write auto, node, bun, or remove it`,
		`js: {environment: {PATH: x}}`:          `m.yaml:4:20: environment variable "PATH" is set by millhand; remove it`,
		`plugins: [{path: guard.ts, level: 3}]`: `m.yaml:4:28: unknown key "level"; known here: optional, options, path`,
	} {
		_, err := loadText(t, oneTask+text+"\n", scriptFiles, tasks.Overrides{})
		if diff := cmp.Diff([]string{want}, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestPoliciesRefuseScripts(t *testing.T) {
	files := maps.Clone(scriptFiles)
	files["m.yaml"] = oneTask + "tools_from: [guard.ts]\nplugins: [pkg]\n"
	opts := options(dirWith(t, files))
	opts.Policies = policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: policy.Extensions, Source: "p.yaml:3", Allow: []string{"other"}}}}}
	_, err := Load(t.Context(), []string{"m.yaml"}, opts)
	want := []string{
		`m.yaml:4:14: the tool file "guard.ts" not allowed by extensions (p.yaml:3); remove it, or change the policy`,
		`m.yaml:5:11: the plugin "pkg" not allowed by extensions (p.yaml:3); remove it, or change the policy`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
