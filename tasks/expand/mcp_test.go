package expand

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

func TestMCPServersHaveAbsolutePathsAndTheirSecrets(t *testing.T) {
	opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + `mcp:
  files:
    type: local
    command: [npx, -y, server-filesystem, .]
    environment: {TOKEN: "${{ env.TOKEN }}", URL: "{env:URL}/v1", PLAIN: x}
    timeout: 5000
    tools: {"*": true, "delete_*": false}
    read: [docs]
    write: [data]
    network: [npm]
    cache: [npm]
  off: {command: [x], enabled: false}
  plain: {command: [x], optional: true, call_timeout: 7s, follow_changes: true}
`}))
	opts.Getenv = func(name string) string {
		return map[string]string{"TOKEN": "secret-4711", "URL": "https://h.example"}[name]
	}
	p, err := Load(t.Context(), []string{"m.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(p.MCP[0].Process.Read[0])
	want := []tasks.MCPServer{
		{
			Name: "files", Timeout: 5 * time.Second, CallTimeout: 5 * time.Second, Switches: []tasks.ToolSwitch{{Pattern: "*", On: true}, {Pattern: "delete_*", On: false}},
			Process: tasks.Process{
				Command:     []string{"npx", "-y", "server-filesystem", "."},
				Environment: map[string]string{"TOKEN": "secret-4711", "URL": "https://h.example/v1", "PLAIN": "x"},
				Read:        []string{filepath.Join(dir, "docs")}, Write: []string{filepath.Join(dir, "data")}, Network: permission.Network{Hosts: []string{"npm"}}, Cache: []string{"npm"},
				Secrets: []string{"secret-4711", "https://h.example"},
			},
		},
		{Name: "plain", Follow: true, Timeout: 30 * time.Second, CallTimeout: 7 * time.Second, Optional: true, Process: tasks.Process{Command: []string{"x"}, Cache: []string{}}},
	}
	slices.Sort(want[0].Process.Secrets)
	slices.Sort(p.MCP[0].Process.Secrets)
	if diff := cmp.Diff(want, p.MCP); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if s := p.MCP[0]; !s.Offers("read") || s.Offers("delete_file") {
		t.Error("the switches of the tools are wrong")
	}
}

// client returns the key oauth of a client, and the end of its server.
func client(url, id, secret string) string {
	return fmt.Sprintf("oauth: {token_url: %q, client_id_env: %s, client_secret_env: %q}}", url, id, secret)
}

func TestMistakesInMCPServers(t *testing.T) {
	for text, want := range map[string]string{
		`a b: {command: [x]}`:  `m.yaml:5:3: invalid server name "a b"; use up to 32 letters, digits, _ and -, starting with a letter or digit`,
		`x: {}`:                `m.yaml:5:3: missing key "command" in "x"; add command: [PROGRAM]`,
		`x: {command: npx}`:    `m.yaml:5:16: "command" must be a list; write a program and its arguments, such as [gcloud, auth, print-access-token]`,
		`x: {command: [./no]}`: `m.yaml:5:16: program "./no": not found; check its path; it is relative to the manifest`,
		`x: {command: [a], environment: {HOME: x}}`:                                                        `m.yaml:5:35: environment variable "HOME" is set by millhand; remove it`,
		`x: {command: [a], environment: {A: "{env:NO}"}}`:                                                  `m.yaml:5:38: the environment variable NO is not set; set it, or use vars: for a value of the manifest`,
		`x: {command: [a], timeout: 0}`:                                                                    `m.yaml:5:30: "timeout" must be an integer from 1 to 9223372036854, not the number 0; write 1 or more`,
		`x: {command: [a], tools: {"*": yes}}`:                                                             `m.yaml:5:34: "*" must be true or false, not the string "yes"; write true`,
		`x: {type: remote, command: [a]}`:                                                                  `m.yaml:5:21: "command" is a key of servers with type: local; remove it, or write type: local`,
		`x: {command: [a], url: "https://h.example/mcp"}`:                                                  `m.yaml:5:21: "url" is a key of servers with type: remote; remove it, or write type: remote`,
		`x: {url: "https://h.example/mcp"}`:                                                                `m.yaml:5:7: "url" is a key of servers with type: remote; remove it, or write type: remote`,
		`x: {type: remote}`:                                                                                `m.yaml:5:3: missing key "url" in "x"; add url: https://HOST/mcp`,
		`x: {type: remote, url: "ftp://h.example"}`:                                                        `m.yaml:5:26: "url" is not an http or https URL; write for example https://HOST/v1`,
		`x: {type: remote, url: "https://h.example?api_key=4"}`:                                            `m.yaml:5:26: "url" contains a key; write it in headers:, as ${{ env.NAME }}`,
		`x: {type: remote, url: "https://h.example/#a"}`:                                                   `m.yaml:5:26: "url" must not contain a fragment; remove it`,
		`x: {type: remote, url: "https://h.example", network: allow}`:                                      `m.yaml:5:47: "network" is a key of servers with type: local; remove it, or write type: local`,
		`x: {type: remote, url: "https://h.example", headers: {Authorization: Bearer 4711}}`:               `m.yaml:5:57: "Authorization" contains a key in plain text; write ${{ env.NAME }}`,
		`x: {type: remote, url: "https://h.example", headers: {Mcp-Session-Id: a}}`:                        `m.yaml:5:57: header "Mcp-Session-Id" is set by millhand; remove it`,
		`x: {type: remote, url: "https://h.example", headers: {X-Team: "{env:NO}"}}`:                       `m.yaml:5:65: the environment variable NO is not set; set it, or use vars: for a value of the manifest`,
		`x: {type: remote, url: "https://h.example", oauth: true}`:                                         `m.yaml:5:54: nobody can log in during a run; write oauth: false, or how a client gets tokens: {token_url: URL, client_id_env: NAME, client_secret_env: NAME}`,
		`x: {type: remote, url: "https://h.example", ` + client("https://a.example/#x", "HOME", "BUILD"):   `m.yaml:5:66: "token_url" must not contain a fragment; remove it`,
		`x: {type: remote, url: "https://h.example", ` + client("http://a.example/token", "HOME", "BUILD"): `m.yaml:5:47: the secret of the client would be sent unencrypted; write token_url: https://...`,
		`x: {type: remote, url: "http://h.example", ` + client("https://a.example/token", "HOME", "BUILD"): `m.yaml:5:3: the tokens of server "x" would be sent unencrypted; write url: https://...`,
		`x: {type: remote, url: "https://h.example", ` + client("https://a.example/token", "HOME", "NO"):   `m.yaml:5:47: the environment variable NO of oauth is not set; set it`,
		`x: {type: remote, url: "https://h.example", ` + client("https://a.example/token", "HOME", "a b"):  `m.yaml:5:133: "client_secret_env" must be the name of an environment variable; write the name alone, such as EXAMPLE_API_KEY, and never the key`,
		`x: {type: remote, url: "https://h.example", headers: {authorization: "${{ env.HOME }}"}, ` + client("https://a.example/t", "HOME", "BUILD"): `m.yaml:5:57: oauth sets this header, too; remove one of them`,
		`x: {command: [a], cwd: y}`: `m.yaml:5:21: unknown key "cwd"; known here: cache, call_timeout, command, enabled, environment, follow_changes, headers, network, oauth, optional, read, timeout, tools, type, url, write`,
	} {
		_, err := loadText(t, oneTask+"mcp:\n  "+text+"\n", nil, tasks.Overrides{})
		if diff := cmp.Diff([]string{want}, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestRemoteMCPServers(t *testing.T) {
	opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + `mcp:
  linear:
    type: remote
    url: https://mcp.example/mcp?team=a
    headers: {Authorization: "Bearer {env:TOKEN}", X-Team: "${{ env.TEAM }}", X-Plain: a}
    oauth: false
  away: {type: remote, url: "https://h.example/mcp", ` + client("https://a.example/token", "TEAM", "TOKEN") + `
  here: {type: remote, url: "http://127.0.0.1:8080/mcp", headers: {Authorization: "${{ env.TOKEN }}"}}
`}))
	opts.Getenv = func(name string) string { return map[string]string{"TOKEN": "secret-4711", "TEAM": "blue"}[name] }
	p, err := Load(t.Context(), []string{"m.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(p.MCP[0].Remote.Secrets)
	want := []tasks.MCPServer{
		{Name: "linear", Timeout: 30 * time.Second, CallTimeout: 2 * time.Minute, Process: tasks.Process{Cache: []string{}}, Remote: &tasks.Remote{
			URL: "https://mcp.example/mcp?team=a", Headers: map[string]string{"Authorization": "Bearer secret-4711", "X-Team": "blue", "X-Plain": "a"}, Secrets: []string{"blue", "secret-4711"},
		}},
		{Name: "away", Timeout: 30 * time.Second, CallTimeout: 2 * time.Minute, Process: tasks.Process{Cache: []string{}}, Remote: &tasks.Remote{
			URL: "https://h.example/mcp", Secrets: []string{"secret-4711"},
			OAuth: &tasks.OAuth{TokenURL: "https://a.example/token", IDEnv: "TEAM", SecretEnv: "TOKEN", ID: "blue", Secret: "secret-4711"},
		}},
		{Name: "here", Timeout: 30 * time.Second, CallTimeout: 2 * time.Minute, Process: tasks.Process{Cache: []string{}}, Remote: &tasks.Remote{
			URL: "http://127.0.0.1:8080/mcp", Headers: map[string]string{"Authorization": "secret-4711"}, Secrets: []string{"secret-4711"},
		}},
	}
	if diff := cmp.Diff(want, p.MCP); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestKeysOfRemoteServersAreSentEncrypted(t *testing.T) {
	text := oneTask + "mcp:\n  far: {type: remote, url: 'http://h.example/mcp', headers: {X: '${{ env.TOKEN }}'}}\n"
	opts := options(dirWith(t, map[string]string{"m.yaml": text}))
	opts.Getenv = func(string) string { return "x" }
	_, err := Load(t.Context(), []string{"m.yaml"}, opts)
	want := []string{`m.yaml:5:3: the headers of server "far" would be sent unencrypted; write url: https://...`}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestPoliciesBoundRemoteServers(t *testing.T) {
	text := oneTask + "mcp:\n  far: {type: remote, url: 'https://h.example/mcp', headers: {A: '${{ env.TOKEN }}'}}\n"
	for key, want := range map[policy.Key]string{
		policy.Extensions: `m.yaml:5:3: the MCP server "far" not allowed by extensions (p.yaml:3); remove it, or change the policy`,
		policy.Env:        `m.yaml:5:67: the environment variable TOKEN not allowed by env (p.yaml:3); remove it, or change the policy`,
		policy.Hosts:      `m.yaml:5:23: the host "h.example" not allowed by hosts (p.yaml:3); remove it, or change the policy`,
	} {
		opts := options(dirWith(t, map[string]string{"m.yaml": text}))
		opts.Getenv = func(string) string { return "x" }
		opts.Policies = policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: key, Source: "p.yaml:3"}}}}
		_, err := Load(t.Context(), []string{"m.yaml"}, opts)
		if got := lines(t, err); !slices.Contains(got, want) {
			t.Errorf("%s: problems %q, want %s", key, got, want)
		}
	}
}

func TestPoliciesBoundMCPServers(t *testing.T) {
	text := oneTask + "mcp:\n  files: {command: [x], environment: {A: '${{ env.TOKEN }}'}, network: [a.example], cache: [go], read: [/etc]}\n"
	for key, want := range map[policy.Key]string{
		policy.Extensions: `m.yaml:5:3: the MCP server "files" not allowed by extensions (p.yaml:3); remove it, or change the policy`,
		policy.Env:        `m.yaml:5:43: the environment variable TOKEN not allowed by env (p.yaml:3); remove it, or change the policy`,
		policy.Hosts:      `m.yaml:5:73: the host "a.example" not allowed by hosts (p.yaml:3); remove it, or change the policy`,
		policy.Cache:      `m.yaml:5:93: the cache "go" not allowed by cache (p.yaml:3); remove it, or change the policy`,
		policy.Paths:      `m.yaml:5:105: the path "/etc" not allowed by paths (p.yaml:3); remove it, or change the policy`,
	} {
		opts := options(dirWith(t, map[string]string{"m.yaml": text}))
		rule := policy.Rule{Key: key, Source: "p.yaml:3"}
		if key == policy.Paths { // of the manifest
			rule.Allow = []string{opts.Dir}
		}
		opts.Getenv = func(string) string { return "x" }
		opts.Policies = policy.Set{{Name: "p.yaml", Rules: []policy.Rule{rule}}}
		_, err := Load(t.Context(), []string{"m.yaml"}, opts)
		got := lines(t, err)
		if !slices.Contains(got, want) {
			t.Errorf("%s: problems %q, want %s", key, got, want)
		}
	}
}

// What starts processes is refused without a sandbox, as bash is.
func TestWhatStartsProcesses(t *testing.T) {
	for text, want := range map[string]bool{
		"":                           false,
		"mcp: {a: {command: [x]}}\n": true,
		"mcp: {a: {command: [x], optional: true}}\n":             true,
		"mcp: {a: {type: remote, url: \"https://h.example\"}}\n": false,
		"tools_from: [a.ts]\n":                                   true,
		"plugins: [./a.ts]\n":                                    true,
		"lsp: {gopls: {}}\n":                                     true,
		"lsp: true\n":                                            true,
		"hooks: {run_end: [{run: x}]}\n":                         true,
		"js: {runtime: node}\n":                                  false,
		"lsp_diagnostics: {when: \"off\"}\n":                     false,
	} {
		p, err := loadText(t, oneTask+text, map[string]string{"a.ts": ""}, tasks.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		if p.StartsProcesses() != want {
			t.Errorf("%q starts processes: %v", text, !want)
		}
	}
}
