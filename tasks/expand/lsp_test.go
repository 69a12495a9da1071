package expand

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

func TestLanguageServersHaveTheDefaultsOfTheirNames(t *testing.T) {
	opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + `lsp:
  gopls: {}
  typescript-language-server: {command: [tls, --stdio], initialization: {a: [1, {b: c}]}, cache: [npm]}
  own: {command: [own], extensions: [.x, .y.z], env: {TOKEN: "${{ env.TOKEN }}"}, read: [docs], write: [data]}
  off: {command: [x], extensions: [.x], disabled: true}
lsp_diagnostics: {wait: 500ms}
`}))
	opts.Getenv = func(name string) string { return map[string]string{"TOKEN": "secret-4711"}[name] }
	p, err := Load(t.Context(), []string{"m.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(p.LSP.Servers[2].Process.Read[0])
	want := &tasks.LSP{Wait: 500 * time.Millisecond, Servers: []tasks.LanguageServer{
		{Name: "gopls", Process: tasks.Process{Command: []string{"gopls"}, Cache: []string{"go"}}, Extensions: []string{".go"}, Initialization: []byte(`{"diagnosticsDelay":"10ms"}`)},
		{
			Name: "typescript-language-server", Process: tasks.Process{Command: []string{"tls", "--stdio"}, Cache: []string{"npm"}},
			Extensions: strings.Fields(".ts .tsx .js .jsx .mts .cts .mjs .cjs"), Initialization: []byte(`{"a":[1,{"b":"c"}]}`),
		},
		{Name: "own", Extensions: []string{".x", ".y.z"}, Process: tasks.Process{
			Command: []string{"own"}, Environment: map[string]string{"TOKEN": "secret-4711"}, Secrets: []string{"secret-4711"},
			Read: []string{filepath.Join(dir, "docs")}, Write: []string{filepath.Join(dir, "data")},
		}},
	}}
	if diff := cmp.Diff(want, p.LSP); diff != "" {
		t.Errorf("language servers (-want +got):\n%s", diff)
	}
}

func TestKnownLanguageServers(t *testing.T) {
	for text, want := range map[string]time.Duration{"lsp: true": manifest.DefaultWait, "lsp: true\nlsp_diagnostics: {when: off}": 0} {
		p, err := loadText(t, oneTask+text+"\n", nil, tasks.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		if p.LSP.Wait != want || len(p.LSP.Servers) != 15 || !p.LSP.Servers[0].IfFound {
			t.Errorf("%s: %+v", text, p.LSP)
		}
	}
	plain, err := loadText(t, oneTask, nil, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"lsp: false", "lsp: {}", "lsp: {gopls: {disabled: true}}", "lsp_diagnostics: {wait: 1s}"} {
		if p, err := loadText(t, oneTask+text+"\n", nil, tasks.Overrides{}); err != nil || p.LSP != nil || p.Hash != plain.Hash {
			t.Errorf("%s: %v, or it changes the plan", text, err)
		}
	}
}

func TestMistakesInLanguageServers(t *testing.T) {
	for text, want := range map[string][]string{
		`lsp: [gopls]`:                      {`m.yaml:4:6: "lsp" must be a mapping, not a list; write KEY: VALUE`},
		`lsp: {a b: {}}`:                    {`m.yaml:4:7: invalid server name "a b"; use up to 32 letters, digits, _ and -, starting with a letter or digit`},
		`lsp: {x: {}}`:                      {`m.yaml:4:7: missing key "command" in "x"; add command: [PROGRAM]`, `m.yaml:4:7: missing key "extensions" in "x"; add for example extensions: [.go]`},
		`lsp: {gopls: {extensions: [go]}}`:  {`m.yaml:4:28: invalid extension "go"; write it with its dot, such as .go`},
		`lsp: {gopls: {network: deny}}`:     {`m.yaml:4:15: unknown key "network"; known here: cache, command, disabled, env, extensions, initialization, read, write`},
		`lsp: {gopls: {env: {PATH: x}}}`:    {`m.yaml:4:21: environment variable "PATH" is set by millhand; remove it`},
		`lsp: {gopls: {initialization: x}}`: {`m.yaml:4:31: "initialization" must be a mapping, not the string "x"; write KEY: VALUE`},
		`lsp: {gopls: 1}`:                   {`m.yaml:4:14: "gopls" must be a mapping, not the number 1; write KEY: VALUE`},
		`lsp_diagnostics: {when: read}`:     {`m.yaml:4:25: "when" must be one of edit, off, not "read"; write one of them`},
		`lsp_diagnostics: {wait: 21s}`:      {`m.yaml:4:25: wait must be at most 20s; write for example 3s`},
	} {
		_, err := loadText(t, oneTask+text+"\n", nil, tasks.Overrides{})
		if diff := cmp.Diff(want, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestPoliciesBoundLanguageServers(t *testing.T) {
	for _, text := range []string{"lsp: true", "lsp: {gopls: {}}"} {
		opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + text + "\n"}))
		opts.Policies = policy.Set{{Name: "ops", Rules: []policy.Rule{{Key: policy.Extensions, Source: "ops.yaml:2"}}}}
		if _, err := Load(t.Context(), []string{"m.yaml"}, opts); err == nil || !strings.Contains(err.Error(), "not allowed by extensions") {
			t.Errorf("%s: error is %v", text, err)
		}
	}
}
