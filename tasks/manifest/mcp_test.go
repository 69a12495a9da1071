package manifest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

func TestTimeoutsOfServersAreDurationsOrMilliseconds(t *testing.T) {
	const most = `must be an integer from 1 to 9223372036854, not the number `
	for keys, want := range map[string]struct {
		start, call time.Duration
		problem     string
	}{
		"":                                   {30 * time.Second, 2 * time.Minute, ""},
		"timeout: 5000":                      {5 * time.Second, 5 * time.Second, ""},
		"timeout: 1m":                        {time.Minute, time.Minute, ""},
		"call_timeout: 7s":                   {30 * time.Second, 7 * time.Second, ""},
		"timeout: 5s, call_timeout: 250":     {5 * time.Second, 250 * time.Millisecond, ""},
		"timeout: 9223372036854":             {9223372036854 * time.Millisecond, 9223372036854 * time.Millisecond, ""},
		"timeout: 9223372036855":             {problem: `m.yaml:4:39: "timeout" ` + most + `9223372036855; write 9223372036854 or less`},
		"call_timeout: 10000000000000000":    {problem: `m.yaml:4:44: "call_timeout" ` + most + `10000000000000000; write 9223372036854 or less`},
		"timeout: 0":                         {problem: `m.yaml:4:39: "timeout" ` + most + `0; write 1 or more`},
		"timeout: 5s, call_timeout: forever": {problem: `m.yaml:4:57: "call_timeout" must be a duration, not the string "forever"; write it with its unit, such as 90s, 20m or 1h30m`},
	} {
		m, problems := read(t, oneTask+"mcp: {x: {command: [server], "+keys+"}}\n")
		if got := strings.Join(problems, "\n"); got != want.problem {
			t.Errorf("%s: %s, want %s", keys, got, want.problem)
		}
		if s := m.Servers[0].Is; want.problem == "" && (s.Timeout != want.start || s.CallTimeout != want.call) {
			t.Errorf("%s: %s for the start, %s for a call", keys, s.Timeout, s.CallTimeout)
		}
	}
}

// The digests of definitions are equal if two manifests, or two runs, define the same. Each key is in it.
func TestDigestsCoverEachKey(t *testing.T) {
	type definition struct {
		of   func(m *Manifest) (digest string, defined bool)
		base string
		with []string
	}
	first := func(digests []string) (string, bool) { return strings.Join(digests, " "), len(digests) > 0 }
	for name, d := range map[string]definition{
		"a local server": {
			func(m *Manifest) (string, bool) { return digests(m.Servers, first) },
			"mcp: {x: {command: [a]KEYS}}",
			[]string{"", ", environment: {A: b}", ", read: [d]", ", write: [d]", ", network: allow", ", network: [h.example]", ", cache: [go]", ", timeout: 5s", ", call_timeout: 5s", ", optional: true", ", tools: {a: true}", ", tools: {a: false}", ", follow_changes: true"},
		},
		"a remote server": {
			func(m *Manifest) (string, bool) { return digests(m.Servers, first) },
			"mcp: {x: {type: remote, KEYS}}",
			[]string{
				"url: 'https://h'", "url: 'https://i'", "url: 'https://h', headers: {A: b}", "url: 'https://h', headers: {A: c}",
				"url: 'https://h', oauth: {token_url: 'https://t', client_id_env: A, client_secret_env: B}", "url: 'https://h', oauth: {token_url: 'https://u', client_id_env: A, client_secret_env: B}",
				"url: 'https://h', oauth: {token_url: 'https://t', client_id_env: C, client_secret_env: B}", "url: 'https://h', oauth: {token_url: 'https://t', client_id_env: A, client_secret_env: C}",
				"url: 'https://h', oauth: {token_url: 'https://t', client_id_env: A, client_secret_env: B, scopes: [s]}",
			},
		},
		"a language server": {
			func(m *Manifest) (string, bool) { return digests(m.LanguageServers, first) },
			"lsp: {own: {command: [KEYS}}",
			[]string{"a], extensions: [.x]", "b], extensions: [.x]", "a], extensions: [.y]", "a], extensions: [.x], env: {A: b}", "a], extensions: [.x], initialization: {a: 1}", "a], extensions: [.x], cache: [go]", "a], extensions: [.x], read: [d]", "a], extensions: [.x], write: [d]"},
		},
		"a tool": {
			func(m *Manifest) (string, bool) { return digests(m.Tools, first) },
			"tools: {x: {description: KEYS}}",
			[]string{"d, command: a", "e, command: a", "d, command: b", "d, command: [a]", "d, command: a, time: 5s", "d, command: a, read_only: true", "d, command: a, parameters: {properties: {a: {type: string}}}", "d, command: a, write: ['workspace:.']"},
		},
		"a hook": {
			func(m *Manifest) (string, bool) { return digests(m.Hooks, first) },
			"hooks: {KEYS}",
			[]string{"job_end: [{run: a}]", "job_start: [{run: a}]", "job_end: [{run: b}]", "job_end: [{run: a, time: 5s}]", "job_end: [{run: a, optional: true}]", "job_end: [{run: a, write: ['workspace:.']}]", "before_tool: [{run: a}]", "before_tool: [{run: a, tools: [bash]}]"},
		},
		"a provider": {
			func(m *Manifest) (string, bool) { return digests(m.Providers, first) },
			"providers: {x: {KEYS}}",
			[]string{
				"kind: openai, base_url: 'https://h'", "kind: responses, base_url: 'https://h'", "kind: openai, base_url: 'https://i'", "kind: openai, base_url: 'https://h', key_env: A", "kind: openai, base_url: 'https://h', headers: {A: b}",
				"kind: openai, base_url: 'https://h', query: {A: b}", "kind: openai, base_url: 'https://h', models: {m: {window: 5}}", "kind: openai, base_url: 'https://h', timeouts: {idle: 5s}", "kind: openai, base_url: 'https://h', retry: {max_wait: 5s}",
			},
		},
		"js": {
			func(m *Manifest) (string, bool) { return digests(m.Scripts, first) },
			"js: {KEYS}",
			[]string{"runtime: node", "runtime: bun", "call_timeout: 5s", "hook_timeout: 5s", "network: allow", "environment: {A: b}"},
		},
		"search": {
			func(m *Manifest) (string, bool) { return digests(m.Search, first) },
			"search: {KEYS}",
			[]string{"backend: exa", "backend: json, url: 'https://h'", "backend: json, url: 'https://i'", "backend: exa, key_env: K"},
		},
		"a forge": {
			func(m *Manifest) (string, bool) { return digests(m.forges, first) },
			"forges: {h.example: {kind: KEYS}}",
			[]string{"gitea", "github", "gitea, token_env: A", "github, app: {}", "github, app: {id_env: A}"},
		},
	} {
		seen := map[string]string{}
		for _, keys := range d.with {
			m, problems := read(t, oneTask+strings.Replace(d.base, "KEYS", keys, 1)+"\n")
			digest, defined := d.of(m)
			if problems != nil || !defined {
				t.Errorf("%s with %q: %v", name, keys, problems)
			}
			if before, twice := seen[digest]; twice {
				t.Errorf("%s with %q has the digest of %q", name, keys, before)
			}
			seen[digest] = keys
		}
	}
}

func digests[T any](all []form.Definition[T], of func([]string) (string, bool)) (string, bool) {
	return of(form.Digests(all))
}

func TestToolsOfAServerAreSwitchedInTheirOrder(t *testing.T) {
	m, problems := read(t, oneTask+"mcp: {on: {command: [a], tools: {'*': false, b: true, c: false}}, off: {command: [a], enabled: false}}\n")
	if problems != nil || len(m.Servers) != 1 {
		t.Fatal(problems, len(m.Servers))
	}
	want := []tasks.ToolSwitch{{Pattern: "*"}, {Pattern: "b", On: true}, {Pattern: "c"}}
	if got := m.Servers[0].Is.Switches; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	m, problems = read(t, oneTask+"mcp: {a: {command: [a]}, A: {command: [b]}}\n")
	if len(m.Servers) != 1 || len(problems) != 1 || !strings.Contains(problems[0], `the server name "A" differs from another only in case`) {
		t.Errorf("%d servers, %q", len(m.Servers), problems)
	}
}

func TestVariablesOfServersAreThoseOfTheManifest(t *testing.T) {
	m, problems := read(t, oneTask+`mcp:
  x: {command: [a], environment: {A: "{env:HOME}/x", B: "${{ env.BUILD }}", C: 5, D: "{env:}"}, write: [d, "workspace:."]}
  y: {type: remote, url: "https://h", headers: {X-A: "{env:BUILD}"}}
`)
	if problems != nil {
		t.Fatal(problems)
	}
	var got []string
	for _, e := range m.Servers[0].Is.Written.Environment {
		got = append(got, e.Key.Value+"="+e.S)
	}
	got = append(got, m.Servers[1].Is.WrittenRemote.HeaderTexts[0].S)
	if want := []string{"A=${{ env.HOME }}/x", "B=${{ env.BUILD }}", "C=5", "D={env:}", "${{ env.BUILD }}"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if p := m.Servers[0].Is.Process; !p.Workspace || len(p.Write) != 1 || !strings.HasSuffix(p.Write[0], "/d") {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_PRELOAD", "a b", ""} {
		if _, problems := read(t, oneTask+"mcp: {x: {command: [a], environment: {'"+name+"': x}}}\n"); len(problems) != 1 {
			t.Errorf("variable %q: %q", name, problems)
		}
	}
}

func TestKeysAreNotSentUnencryptedBeyondTheLocalNetwork(t *testing.T) {
	for host, open := range map[string]bool{
		"h.example": true, "8.8.8.8": true, "[2001:4860::1]": true, "h.example.": true, "127.0.0.1": false, "[::1]": false, "10.1.2.3": false, "192.168.0.9": false, "169.254.1.1": false,
		"localhost": false, "gateway": false, "ollama.local": false, "a.internal": false, "b.LAN": false, "c.test.": false,
	} {
		for _, c := range []struct{ text, exposed string }{
			{"providers: {x: {kind: openai, base_url: 'http://HOST/v1', key_env: K}}", "the key of provider"},
			{"providers: {x: {kind: openai, base_url: 'http://HOST/v1', headers: {X-Api-Key: '${{ env.BUILD }}'}}}", "the key of provider"},
			{"providers: {x: {kind: openai, base_url: 'http://HOST/v1', query: {token: '${{ env.BUILD }}'}}}", "the key of provider"},
			{"providers: {x: {kind: openai, base_url: 'https://HOST/v1', key_env: K}}", ""},
			{"providers: {x: {kind: openai, base_url: 'http://HOST/v1'}}", ""},
			{"mcp: {x: {type: remote, url: 'http://HOST', headers: {X-Team: '${{ env.BUILD }}'}}}", "the headers of server"},
			{"mcp: {x: {type: remote, url: 'http://HOST', headers: {X-Team: blue}}}", ""},
			{"mcp: {x: {type: remote, url: 'http://HOST', oauth: {token_url: 'https://t', client_id_env: A, client_secret_env: B}}}", "the tokens of server"},
			{"mcp: {x: {type: remote, url: 'https://h', oauth: {token_url: 'http://HOST', client_id_env: A, client_secret_env: B}}}", "the secret of the client"},
		} {
			_, problems := read(t, oneTask+strings.ReplaceAll(c.text, "HOST", host)+"\n")
			got := strings.Join(problems, "\n")
			if want := open && c.exposed != ""; want != strings.Contains(got, "would be sent unencrypted") || want && !strings.Contains(got, c.exposed) {
				t.Errorf("%s: %s: %s", host, c.text, got)
			}
		}
	}
}
