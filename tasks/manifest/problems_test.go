package manifest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

// Starts of manifests.
const (
	head    = "version: 1\nmodel: openai/m\n"
	oneTask = head + "tasks: [{id: a, prompt: p}]\n"
)

// besideManifest are the files next to m.yaml, and the directory d.
var besideManifest = map[string]string{
	"s.yaml": "turns: []", "big.md": strings.Repeat("x", 1<<20+1), "bin.md": "\xff", "o.md": "hi", "d/x": "",
}

// mistake is a manifest and the problems that are reported about it.
type mistake struct {
	name     string
	manifest string
	want     []string
}

// complete is what every problem in a file looks like.
var complete = regexp.MustCompile(`^m\.yaml:\d+:\d+: .+; .+$`)

// read reads a manifest, m.yaml, and returns what is wrong with it.
func read(t *testing.T, text string) (*Manifest, []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	all := map[string]string{"m.yaml": text}
	maps.Copy(all, besideManifest)
	for name, content := range all {
		if large := len(content) > 1<<20; large && !strings.Contains(text, name) {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := NewLoader(t.Context(), tasks.Options{Dir: dir, Getenv: func(name string) string {
		return map[string]string{"HOME": "/home/ann", "BUILD": "17"}[name]
	}})
	m, err := l.Manifest(t.Context(), "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Found.Err(); err != nil {
		return m, strings.Split(err.Error(), "\n")
	}
	return m, nil
}

// checkMistakes reads manifests without the other files of a plan and the command line.
func checkMistakes(t *testing.T, table []mistake) {
	t.Helper()
	for _, tt := range table {
		t.Run(tt.name, func(t *testing.T) {
			_, got := read(t, tt.manifest)
			if got == nil {
				got = []string{}
			}
			for _, line := range got {
				if !complete.MatchString(line) {
					t.Errorf("%q is not file:line:col: what; how to fix it", line)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesThatAreNoManifests(t *testing.T) {
	checkMistakes(t, []mistake{
		{"keys that are no words", `? [a]
: b
? {a: b}
: c
~: d
5: e
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:3: a key must be a word; write WORD: VALUE`,
			`m.yaml:3:3: a key must be a word; write WORD: VALUE`,
			`m.yaml:5:1: a key must be a word; write WORD: VALUE`,
			`m.yaml:6:1: unknown key "5"; known here: agents, agents_from, allow_dirty, allow_unknown_price, batch, budget, clones, commands, commands_from, effort, evidence, follow, forges, hooks, instructions, jobs, js, limits, lsp, lsp_diagnostics, max_output, mcp, model, name, plugins, prices, profile, profiles, providers, repos, rollout, search, skills, tasks, temperature, tool_output, tools, tools_from, vars, version`,
		}},
		{"an alias to another type", `vars: {x: &x hello}
limits: *x
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:2:9: "limits" must be a mapping, not the string "hello"; write KEY: VALUE`,
		}},
		{"entries of nothing", `version: 1
model: openai/m
tasks: [null, {id: a, prompt: p, needs: [null], vars: {x: null}}]`, []string{
			`m.yaml:3:9: entry 1 of "tasks" must be a mapping, not null; write KEY: VALUE`,
			`m.yaml:3:42: entry 1 of "needs" must be a string, not null; write one string`,
			`m.yaml:3:59: "x" must be a string, number or boolean, not null; write one value`,
		}},
		{"names of variables", `vars: {"a b": 1, x: [1]}
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:8: invalid name "a b"; use letters, digits, _ and -, starting with a letter`,
			`m.yaml:1:21: "x" must be a string, number or boolean, not a list; write one value`,
		}},
		{"a mark at the begin", "\ufeffversion: 1\nname: 5\ntasks: [{id: a, prompt: p, model: openai/m}]", []string{
			`m.yaml:2:7: "name" must be a string, not the number 5; put it in quotes`,
		}},
	})
}

func TestEveryProblemHasAPositionAndAFix(t *testing.T) {
	checkMistakes(t, []mistake{
		{"an unknown key at the top", `promt: x
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:1: unknown key "promt"; known here: agents, agents_from, allow_dirty, allow_unknown_price, batch, budget, clones, commands, commands_from, effort, evidence, follow, forges, hooks, instructions, jobs, js, limits, lsp, lsp_diagnostics, max_output, mcp, model, name, plugins, prices, profile, profiles, providers, repos, rollout, search, skills, tasks, temperature, tool_output, tools, tools_from, vars, version`,
		}},
		{"a misspelt key with problems below it", `task:
- id: a
  promt: p
version: 1
model: openai/m
`, []string{
			`m.yaml:1:1: unknown key "task"; did you mean "tasks"?`,
			`m.yaml:3:3: unknown key "promt"; did you mean "prompt"?`,
		}},
		{"keys of other tools", `tasks:
- id: a
  prompt: p
  timeout: 10m
  depends-on: [b]
  schema: {type: object}
  branch: x
  maxTurns: 3
  env: [A]
  verify: [{run: x, timeout: 5m}]
concurrency: 2
version: 1
model: openai/m
`, []string{
			`m.yaml:4:3: unknown key "timeout"; write limits: {time: 20m}`,
			`m.yaml:5:3: unknown key "depends-on"; write needs: [TASK]`,
			`m.yaml:6:3: unknown key "schema"; write output: {schema: {type: object}}`,
			`m.yaml:7:3: unknown key "branch"; write commit: {branch: NAME}`,
			`m.yaml:8:3: unknown key "maxTurns"; write limits: {turns: 60}`,
			`m.yaml:9:3: unknown key "env"; list the variables in a profile: profiles: {NAME: {extends: build, env: [VARIABLE]}}, and profile: NAME`,
			`m.yaml:10:21: unknown key "timeout"; write time: 20m`,
			`m.yaml:11:1: unknown key "concurrency"; write jobs: 4`,
		}},
		{"an unknown key of a task", `tasks:
- id: a
  prompt: p
  promt: x
  verfy: []
version: 1
model: openai/m
`, []string{
			`m.yaml:4:3: unknown key "promt"; did you mean "prompt"?`,
			`m.yaml:5:3: unknown key "verfy"; did you mean "verify"?`,
		}},
		{"values of other types", `name: 5
budget: 7
limits: {turns: many, cost: -1, time: 20, tokens: 1.5, denials: 0, failures: 0x10}
jobs: 300
allow_dirty: yes
allow_unknown_price: 1
instructions: a.md
vars: [a]
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:7: "name" must be a string, not the number 5; put it in quotes`,
			`m.yaml:2:9: "budget" must be a mapping, not the number 7; write KEY: VALUE`,
			`m.yaml:3:17: "turns" must be an integer of at least 1, not the string "many"; write a whole number without a unit`,
			`m.yaml:3:29: "cost" must be an amount in USD, not the number -1; write for example 1.50`,
			`m.yaml:3:39: "time" must be a duration, not the number 20; write it with its unit, such as 90s, 20m or 1h30m`,
			`m.yaml:3:51: "tokens" must be an integer of at least 1, not the number 1.5; write a whole number without a unit`,
			`m.yaml:3:65: "denials" must be an integer of at least 1, not the number 0; write 1 or more`,
			`m.yaml:3:78: "failures" must be an integer of at least 1, not the number 0x10; write a whole number without a unit`,
			`m.yaml:4:7: "jobs" must be an integer from 1 to 256, not the number 300; write 256 or less`,
			`m.yaml:5:14: "allow_dirty" must be true or false, not the string "yes"; write true`,
			`m.yaml:6:22: "allow_unknown_price" must be true or false, not the number 1; write true`,
			`m.yaml:7:15: "instructions" must be a list, not the string "a.md"; put it in brackets: [a.md]`,
			`m.yaml:8:7: "vars" must be a mapping, not a list; write KEY: VALUE`,
		}},
		{"sizes", `version: 1
model: openai/m
limits: {disk: 100, memory: 5 apples}
tasks:
  - {id: a, prompt: p, limits: {disk: 1kB, memory: infGB, processes: 2}}
  - {id: b, prompt: p, limits: {disk: 5000TB, memory: [1GB]}}`, []string{
			`m.yaml:3:16: "disk" must be a size, not the number 100; write it with its unit, such as 500MB, 8GB or 2GiB`,
			`m.yaml:3:29: "memory" must be a size, not the string "5 apples"; write it with its unit, such as 500MB, 8GB or 2GiB`,
			`m.yaml:5:39: "disk" must be from 1MB to 1000TB; write for example 8GB`,
			`m.yaml:5:52: "memory" must be from 1MB to 1000TB; write for example 8GB`,
			`m.yaml:5:70: "processes" must be an integer from 16 to 2147483647, not the number 2; write 16 or more`,
			`m.yaml:6:39: "disk" must be from 1MB to 1000TB; write for example 8GB`,
			`m.yaml:6:55: "memory" must be a size, not a list; write it with its unit, such as 500MB, 8GB or 2GiB`,
		}},
		{"limits of zero", `budget: {cost: 0, time: 0s}
limits: {cost: .nan, time: -1s}
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:16: "cost" must be more than 0; remove it for no limit`,
			`m.yaml:1:25: "time" must be more than 0; write for example 20m`,
			`m.yaml:2:16: "cost" must be an amount in USD, not the number .nan; write for example 1.50`,
			`m.yaml:2:28: "time" must be more than 0; write for example 20m`,
		}},
		{"no version", `model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:1: missing key "version" in the file; add version: 1`,
		}},
		{"a version of the future", `version: 2
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:10: version 2 is not supported; write version: 1`,
		}},
		{"a version in quotes", `version: "1"
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:10: "version" must be the number 1, not the string "1"; write version: 1`,
		}},
		{"a key that stands twice", `name: a
name: b
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:2:1: duplicate key "name", first defined on line 1; keep one of them`,
		}},
		{"ids and prompts", `version: 1
model: openai/m
tasks:
- {id: "a b", prompt: p}
- {id: .a, prompt: p}
- {id: a..b, prompt: p}
- {id: a.lock, prompt: p}
- {id: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, prompt: p}
- {prompt: p}
- {id: 5, prompt: p}
- {id: e, prompt: "  "}
- {id: f}
- g`, []string{
			`m.yaml:4:8: invalid task id "a b"; use up to 64 letters, digits, ., _ and -, starting with a letter or digit`,
			`m.yaml:5:8: invalid task id ".a"; use up to 64 letters, digits, ., _ and -, starting with a letter or digit`,
			`m.yaml:6:8: task id "a..b" is not valid in a branch name; it must not contain ".." or end with "."`,
			`m.yaml:7:8: task id "a.lock" is not valid in a branch name; no element of it may start with "." or end with ".lock"`,
			`m.yaml:8:8: task id "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..." exceeds 64 characters; use up to 64 letters, digits, ., _ and -, starting with a letter or digit`,
			`m.yaml:9:3: missing key "id" in entry 6 of "tasks"; add id: fix-tests`,
			`m.yaml:10:8: "id" must be a string, not the number 5; put it in quotes`,
			`m.yaml:11:19: "prompt" is empty; give it a value, or remove it`,
			`m.yaml:12:3: missing key "prompt" in entry 9 of "tasks"; add prompt: TEXT`,
			`m.yaml:13:3: entry 10 of "tasks" must be a mapping, not the string "g"; write KEY: VALUE`,
		}},
		{"ask", `profiles:
  mine:
    permission:
      bash: {"git *": ask}
      edit: ask
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:4:23: "ask" is not supported, because nobody can be asked; write allow or deny`,
			`m.yaml:5:13: "ask" is not supported, because nobody can be asked; write allow or deny`,
		}},
		{"profiles", `profiles:
  a: {network: ["https://x.y", ok.com]}
  b: {permission: maybe}
  c: {permission: [x]}
  d:
  edit: {}
  "e f": {network: deny}
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:2:17: invalid host "https://x.y"; write its name alone, such as proxy.golang.org`,
			`m.yaml:3:19: "permission" must be allow or deny, not the string "maybe"; write one of them`,
			`m.yaml:4:19: "permission" must be allow, deny or a mapping from permissions to them, not a list; write for example {edit: allow}`,
			`m.yaml:5:5: profile "d" is empty; add at least permission: or extends:`,
			`m.yaml:6:3: profile name "edit" is a preset's; choose another name, and extend the preset`,
			`m.yaml:7:3: "e f" is not a name; use letters, digits, ., _ and -`,
		}},
		{"keys of a task that a later release will have", `tasks:
- id: a
  prompt: p
  publish: {mode: pr, title: x, labels: [a], base: , xyz: 1}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:54: unknown key "xyz"; known here: assignees, base, body, comment, draft, fork, if_exists, labels, mode, requests, reviewers, title`,
		}},
		{"keys that were withdrawn", `notify: {a: 1}
version: 1
model: openai/m
tasks: [{id: a, prompt: p, effort: high, max_output: 5}]`, []string{
			`m.yaml:1:1: unknown key "notify"; run a command with hooks: {run_end: [COMMAND]}`,
			`m.yaml:4:28: unknown key "effort"; write it at the top of the manifest, or in an agent: agents: {NAME: {...}}`,
			`m.yaml:4:42: unknown key "max_output"; write it at the top of the manifest, or in an agent: agents: {NAME: {...}}`,
		}},
		{"keys with empty values", `agents: {}
providers:
search: {}
tools: {}
skills: []
tool_output: {}
lsp: {}
mcp: {}
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{}},
		{"a commit that is no mapping", `tasks:
- id: a
  prompt: p
  commit: maybe
version: 1
model: openai/m
`, []string{
			`m.yaml:4:11: "commit" must be false or a mapping, not the string "maybe"; write commit: false for no commit, or commit: {message: TEXT}`,
		}},
		{"an author", `tasks:
- id: a
  prompt: p
  commit: {author: {name: "a<b", email: c}}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:20: an author's name and email must not contain <, >, NUL or line breaks; remove them`,
		}},
		{"authors as git writes them", head + `tasks:
- {id: a, prompt: p, commit: {author: "Ann <ann@h>"}}
- {id: b, prompt: p, commit: {author: "=?utf-8?q?Ann=0Aparent_x?= <ann@h>"}}
- {id: c, prompt: p, commit: {author: '"Ann <x>" <ann@h>'}}
- {id: d, prompt: p, commit: {author: ann@h}}
- {id: e, prompt: p, commit: {author: Ann}}
- {id: f, prompt: p, commit: {author: [Ann]}}
- {id: g, prompt: p, commit: {author: {name: Ann}}}
`, []string{
			`m.yaml:5:39: an author's name and email must not contain <, >, NUL or line breaks; remove them`,
			`m.yaml:6:39: an author's name and email must not contain <, >, NUL or line breaks; remove them`,
			`m.yaml:7:39: invalid author "ann@h"; write NAME <EMAIL>, or {name: NAME, email: EMAIL}`,
			`m.yaml:8:39: invalid author "Ann"; write NAME <EMAIL>, or {name: NAME, email: EMAIL}`,
			`m.yaml:9:39: "author" must be a mapping, not a list; write KEY: VALUE`,
			`m.yaml:10:31: missing key "email" in "author"; add email: ADDRESS`,
		}},
		{"verify commands", `tasks:
- id: a
  prompt: p
  verify:
  - {name: a, run: x}
  - {name: a, run: y}
  - {name: c}
  - go test
  - {name: d, run: "", time: 5}
  - {run: true}
  - {run: [a]}
  - {run: b, in: cleen}
  - [c]
  - " "
  - go test
version: 1
model: openai/m
`, []string{
			`m.yaml:6:5: duplicate verify name "a", first on line 5; rename one of them`,
			`m.yaml:7:5: missing key "run" in entry 3 of "verify"; add run: COMMAND`,
			`m.yaml:9:20: "run" is empty; write a command, or remove it`,
			`m.yaml:9:30: "time" must be a duration, not the number 5; write it with its unit, such as 90s, 20m or 1h30m`,
			`m.yaml:11:11: "run" must be a string, number or boolean, not a list; write one value`,
			`m.yaml:12:18: "in" must be one of workspace, clean, not "cleen"; did you mean "clean"?`,
			`m.yaml:13:5: entry 9 of "verify" must be a command or a mapping, not a list; write - COMMAND or - {run: COMMAND}`,
			`m.yaml:14:5: entry 10 of "verify" is empty; write a command, or remove it`,
			`m.yaml:15:5: duplicate verify name "go test", first on line 8; rename one of them`,
		}},
		{"baseline", `tasks:
- {id: a, prompt: p, baseline: must_fail}
- {id: b, prompt: p, baseline: must_fial, verify: [x]}
- {id: c, prompt: p, baseline: skip}
version: 1
model: openai/m
`, []string{
			`m.yaml:2:32: baseline without verify commands; add verify: [COMMAND], or remove baseline`,
			`m.yaml:3:32: "baseline" must be one of run, must_fail, must_pass, skip, not "must_fial"; did you mean "must_fail"?`,
		}},
		{"ablate", `tasks:
- {id: a, prompt: p, ablate: {}}
- {id: b, prompt: p, verify: x, change: {unneeded: fail}}
- {id: c, prompt: p, verify: x, ablate: {time: 0s, jobs: 17}, change: {unneeded: false}}
- {id: d, prompt: p, verify: x, ablate: {tme: 1m}, change: {unneeded: warn}}
version: 1
model: openai/m
`, []string{
			`m.yaml:2:30: ablate without verify commands; add verify: [COMMAND], or remove ablate`,
			`m.yaml:3:52: change.unneeded without ablate; add ablate: {time: 5m}, which finds what is unneeded, or remove it`,
			`m.yaml:4:48: "time" must be more than 0; write for example 20m`,
			`m.yaml:4:58: "jobs" must be an integer from 1 to 16, not the number 17; write 16 or less`,
			`m.yaml:4:82: "unneeded" must be a string, not the boolean false; put it in quotes`,
			`m.yaml:5:42: unknown key "tme"; did you mean "time"?`,
		}},
		{"setup commands that are no list", `tasks:
- id: a
  prompt: p
  setup: {run: npm ci}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:10: "setup" must be a list, not a mapping; write [A, B]`,
		}},
		{"setup commands", `tasks:
- id: a
  prompt: p
  setup: [true, 5, "", null, {a: b}, "ok"]
version: 1
model: openai/m
`, []string{
			`m.yaml:4:20: entry 3 of "setup" is empty; write a command, or remove it`,
			`m.yaml:4:24: entry 4 of "setup" must be a string, number or boolean, not null; write one value`,
			`m.yaml:4:30: entry 5 of "setup" must be a string, number or boolean, not a mapping; write one value`,
		}},
		{"attempts", `tasks:
- id: a
  prompt: p
  attempts: 0
  require_changes: on
version: 1
model: openai/m
`, []string{
			`m.yaml:4:13: "attempts" must be an integer of at least 1, not the number 0; write 1 or more`,
			`m.yaml:5:20: "require_changes" must be true or false, not the string "on"; write true`,
		}},
		{"a matrix", `tasks:
- id: a
  prompt: p
  matrix:
    a b: [1]
    k: [1, 1, {x: y}]
    l: []
    m: 5
    include: [{n: 1}, {}, x]
    exclude: [{k: 2}, {z: 1}]
version: 1
model: openai/m
`, []string{
			`m.yaml:5:5: invalid name "a b"; use letters, digits, _ and -, starting with a letter`,
			`m.yaml:6:12: duplicate value "1" in "k"; keep one of them`,
			`m.yaml:6:15: entry 3 of "k" must be a string, number or boolean, not a mapping; write one value`,
			`m.yaml:7:8: "l" has no values; add at least one, or remove the key`,
			`m.yaml:8:8: "m" must be a list, not the number 5; put it in brackets: [5]`,
			`m.yaml:9:23: entry 2 of "include" is empty; remove it`,
			`m.yaml:9:27: entry 3 of "include" must be a mapping, not the string "x"; write KEY: VALUE`,
			`m.yaml:10:19: exclude: unknown value "2" of "k"; its values: 1`,
			`m.yaml:10:24: exclude: unknown matrix key "z"; its keys: k`,
		}},
		{"instructions", `instructions: [nope.md, big.md, bin.md, d, o.md, 5]
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:1:16: "nope.md": not found; check its path; it is relative to the manifest`,
			`m.yaml:1:25: "big.md": exceeds 1 MiB; check its path; it is relative to the manifest`,
			`m.yaml:1:33: "bin.md" is not UTF-8 text; save it as UTF-8`,
			`m.yaml:1:41: "d": not a file; check its path; it is relative to the manifest`,
			`m.yaml:1:50: entry 6 of "instructions" must be a string, not the number 5; put it in quotes`,
		}},
	})
}

func TestMistakesInWhatAManifestDefines(t *testing.T) {
	checkMistakes(t, []mistake{
		{"keys in plain sight", `providers:
  a: {kind: openai, base_url: "https://h/v1", headers: {Authorization: Bearer abc, X-Team: x}, query: {api-key: abc}}
  b: {kind: openai, base_url: "https://h/v1", headers: {authorization: "Bearer ${{ env.HOME }}"}}
  c: {kind: openai, base_url: "http://models.example.com/v1", key_env: C_KEY}
  d: {kind: openai, base_url: "http://8.8.8.8/v1", headers: {X-Api-Key: "${{ env.HOME }}"}}
  e: {kind: openai, base_url: "http://models.example.com/v1"}
  f: {kind: openai, base_url: "http://10.1.2.3:8000/v1", key_env: F_KEY}
  g: {kind: openai, base_url: "http://gateway.corp.internal/v1", key_env: G_KEY}
  h: {kind: openai, base_url: "http://127.0.0.1:8000/v1", key_env: H_KEY}
  i: {kind: openai, base_url: "http://litellm:4000/v1", key_env: I_KEY}
  j: {kind: openai, base_url: "https://h/v1", headers: {content-type: text/plain, Host: other}}
` + oneTask, []string{
			`m.yaml:2:57: "Authorization" contains a key in plain text; write ${{ env.NAME }}, or name the variable of the key with key_env:`,
			`m.yaml:2:104: "api-key" contains a key in plain text; write ${{ env.NAME }}, or name the variable of the key with key_env:`,
			`m.yaml:4:3: the key of provider "c" would be sent unencrypted; write base_url: https://...`,
			`m.yaml:5:3: the key of provider "d" would be sent unencrypted; write base_url: https://...`,
			`m.yaml:11:57: header "content-type" is set by millhand; remove it`,
			`m.yaml:11:83: header "Host" is set by millhand; remove it`,
		}},
		{"a search without its backend", "search: {url: 'https://h'}\n" + oneTask, []string{
			`m.yaml:1:1: missing key "backend" in "search"; add backend: exa or backend: json`,
		}},
		{"a search without its url", "search: {backend: json}\n" + oneTask, []string{
			`m.yaml:1:1: missing key "url" in "search"; add url: https://HOST/search`,
		}},
		{"a search of others", "search: {backend: google, url: localhost, key_env: 5}\n" + oneTask, []string{
			`m.yaml:1:19: "backend" must be one of exa, json, not "google"; write one of them`,
			`m.yaml:1:32: "url" is not an http or https URL; write for example https://HOST/v1`,
			`m.yaml:1:52: "key_env" must be a string, not the number 5; put it in quotes`,
		}},
		{"tools", `tools:
  9x: {description: a, command: b}
  bash: {description: a, command: b}
  Write: {description: a, command: b}
  c: {}
  C: {description: a, command: b}
  d: {description: a, command: [], time: 5, read_only: on}
  e: {description: a, command: [./nope, x]}
  f: {description: a, command: [s.yaml]}
  g: {description: a, command: [./s.yaml]}
  h: {description: a, command: "x ${{ vars.x }}"}
  i: {description: a, command: [x, [y]]}
  j: {description: a, command: b, parameters: {type: array}}
  k: {description: a, command: b, parameters: [a]}
` + oneTask, []string{
			`m.yaml:2:3: invalid tool name "9x"; use up to 64 letters, digits, _ and -, starting with a letter`,
			`m.yaml:3:3: the tool name "bash" is reserved; choose another`,
			`m.yaml:4:3: the tool name "Write" is reserved; choose another`,
			`m.yaml:5:3: missing key "description" in "c"; add description: TEXT`,
			`m.yaml:5:3: missing key "command" in "c"; add command: COMMAND`,
			`m.yaml:6:3: the tool name "C" differs from another only in case; choose another`,
			`m.yaml:7:32: "command" is empty; write a program and its arguments`,
			`m.yaml:7:42: "time" must be a duration, not the number 5; write it with its unit, such as 90s, 20m or 1h30m`,
			`m.yaml:7:56: "read_only" must be true or false, not the string "on"; write true`,
			`m.yaml:8:32: program "./nope": not found; check its path; it is relative to the manifest`,
			`m.yaml:10:32: program "./s.yaml" is not executable; run chmod +x, or name its interpreter first`,
			`m.yaml:11:32: "command" must not contain variables; write a fixed command; tools and hooks read JSON from standard input`,
			`m.yaml:12:36: entry 2 of "command" must be a string, number or boolean, not a list; write one value`,
			`m.yaml:13:54: the schema must be that of an object; write type: object`,
			`m.yaml:14:47: "parameters" must be a JSON Schema, not a list; write for example {type: object, properties: {summary: {type: string}}}`,
		}},
		{"schemas", head + `tasks:
- {id: a, prompt: p, output: {schema: x, foo: y}}
- {id: b, prompt: p, output: {schema: {type: string}}}
- {id: c, prompt: p, output: {schema: {properties: {a: {type: [string, txt]}}}}}
- {id: d, prompt: p, output: {schema: {properties: {"a/b": {pattern: "("}}}}}
- {id: e, prompt: p, output: {schema: {properties: {a: {$ref: "https://h/s.json"}, b: [{$ref: s.json}]}}}}
- {id: f, prompt: p, output: {schema: {$ref: "#/$defs/x"}}}
- {id: g, prompt: p, output: {schema: {required: a, maxProperties: .nan}}}
- {id: h, prompt: p, output: {schema: {required: [a, 5]}}}
- {id: i, prompt: p, output: {schema: {$schema: "https://h/mine"}}}
- {id: j, prompt: p, output: {schema: {properties: {a: 1, a: {}}}}}
- {id: k, prompt: p, output: [a]}
`, []string{
			`m.yaml:4:39: invalid output schema "x"; write findings, which is built in, or a JSON Schema such as {type: object, properties: {summary: {type: string}}}`,
			`m.yaml:4:42: unknown key "foo"; known here: file, schema`,
			`m.yaml:5:46: the schema must be that of an object; write type: object`,
			`m.yaml:6:72: invalid JSON Schema: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'; compare it with json-schema.org`,
			`m.yaml:7:70: invalid JSON Schema: '(' is not valid regex: error parsing regexp: missing closing ): ` + "`(`" + `; compare it with json-schema.org`,
			`m.yaml:8:63: "$ref" refers to a schema outside of this one; write what it stands for under "$defs", and "#/$defs/NAME" here`,
			`m.yaml:8:95: "$ref" refers to a schema outside of this one; write what it stands for under "$defs", and "#/$defs/NAME" here`,
			`m.yaml:9:46: invalid JSON Schema: '#/$defs/x' not found; compare it with json-schema.org`,
			`m.yaml:10:68: "maxProperties" must be a number that JSON has, not the number .nan; write another, or put it in quotes`,
			`m.yaml:11:54: invalid JSON Schema: got number, want string; compare it with json-schema.org`,
			`m.yaml:12:49: invalid JSON Schema: draft 'https://h/mine' is not supported; compare it with json-schema.org`,
			`m.yaml:13:56: invalid JSON Schema: got number, want boolean or object; compare it with json-schema.org`,
			`m.yaml:13:59: duplicate key "a", first defined on line 13; keep one of them`,
			`m.yaml:14:30: "output" must be a mapping, not a list; write KEY: VALUE`,
		}},
		{"the rest", `skills: [nope, s.yaml, 5]
batch: on
tool_output: {lines: 0, bytes: 99999999, foo: 1}
effort: 5
temperature: warm
max_output: -1
` + oneTask, []string{
			`m.yaml:1:10: directory "nope": not found; check its path; it is relative to the manifest`,
			`m.yaml:1:16: "s.yaml" is not a directory; name the directory that contains the skills' directories`,
			`m.yaml:1:24: entry 3 of "skills" must be a string, not the number 5; put it in quotes`,
			`m.yaml:2:8: "batch" must be true or false, not the string "on"; write true`,
			`m.yaml:3:22: "lines" must be an integer from 1 to 1000000, not the number 0; write 1 or more`,
			`m.yaml:3:32: "bytes" must be an integer from 1 to 10485760, not the number 99999999; write 10485760 or less`,
			`m.yaml:3:42: unknown key "foo"; known here: bytes, lines`,
			`m.yaml:4:9: "effort" must be a string, not the number 5; put it in quotes`,
			`m.yaml:5:14: "temperature" must be a number from 0 to 2, not the string "warm"; write for example 0.2`,
			`m.yaml:6:13: "max_output" must be an integer of at least 1, not the number -1; write 1 or more`,
		}},
	})
}

func TestMistakesInARollout(t *testing.T) {
	const head = "version: 1\nmodel: openai/gpt-5-mini\ntasks: [{id: a, prompt: p}]\n"
	checkMistakes(t, []mistake{
		{"not a mapping", head + "rollout: true\n", []string{`m.yaml:4:10: "rollout" must be a mapping, not the boolean true; write KEY: VALUE`}},
		{"no waves", head + "rollout: {waves: []}\n", []string{`m.yaml:4:18: "waves" is empty; write for example [10, 25%, 100%], or remove it`}},
	})
}

func TestMistakesInFollow(t *testing.T) {
	checkMistakes(t, []mistake{
		{"settings of follow", `version: 1
model: openai/m
follow: {on: [], attempts: 0, cost: 0, stale: 0d, when: now}
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:3:14: "on" is empty; write for example [checks], or remove it for all`,
			`m.yaml:3:28: "attempts" must be an integer from 1 to 100, not the number 0; write 1 or more`,
			`m.yaml:3:37: "cost" must be more than 0; remove it for no limit`,
			`m.yaml:3:47: "stale" must be from 1d to 3650d; write for example 30d`,
			`m.yaml:3:51: unknown key "when"; known here: attempts, cost, on, stale`,
		}},
	})
}

func TestMistakesInRepositories(t *testing.T) {
	checkMistakes(t, []mistake{
		{"repositories", `tasks:
- id: a
  prompt: p
  repos:
  - 5
  - {path: nope}
  - {path: m.yaml}
  - {url: x}
  - {file: x}
  - {glob: x}
  - {path: ., copy: .}
  - {path: ., depth: 1, include: [a]}
  - {copy: d, depth: 1}
  - {url: "https://h/a", exclude: [a]}
  - {url: "https://h/a", depth: -1}
  - {glob: "[x"}
  - {glob: "{d,e/f}"}
  - {glob: "d*", include: ["[x"]}
  - {}
  - {copy: d, ref: main}
  - {path: ., ref: "-x"}
  - {path: .}
  - {path: ./d/..}
  - {path: 5}
version: 1
model: openai/m
`, []string{
			`m.yaml:5:5: entry 1 of "repos" must be a mapping, not the number 5; write KEY: VALUE`,
			`m.yaml:6:12: directory "nope": not found; check its path; it is relative to the manifest`,
			`m.yaml:7:12: "m.yaml" is not a directory; name the directory of a repository`,
			`m.yaml:8:11: "x" is not the URL of a repository; write https://HOST/PATH, ssh://HOST/PATH or git@HOST:PATH`,
			`m.yaml:9:12: list "x": not found; check its path; it is relative to the manifest`,
			`m.yaml:10:12: no git repository matches "x"; check the pattern; it is relative to the manifest`,
			`m.yaml:11:5: a repository must have exactly one of path, copy, url, file, glob, github, gitlab and gitea; write for example {path: DIR}, {url: URL}, {file: LIST}, {glob: PATTERN} or {github: {org: NAME}}`,
			`m.yaml:12:15: "depth" is not supported with path; remove it; it is for url, file, github, gitlab and gitea`,
			`m.yaml:12:25: "include" is not supported with path; remove it; it is for file and glob`,
			`m.yaml:13:15: "depth" is not supported with copy; remove it; it is for url, file, github, gitlab and gitea`,
			`m.yaml:14:26: "exclude" is not supported with url; remove it; it is for file and glob`,
			`m.yaml:15:33: "depth" must be an integer from 0 to 2147483647, not the number -1; write 0 or more`,
			`m.yaml:16:12: invalid pattern "[x"; close its brackets, and write no / in them`,
			`m.yaml:17:12: invalid pattern "{d,e/f}"; close its brackets, and write no / in them`,
			`m.yaml:18:12: no git repository matches "d*"; check the pattern; it is relative to the manifest`,
			`m.yaml:18:28: invalid glob "[x"; close its brackets`,
			`m.yaml:19:5: a repository must have exactly one of path, copy, url, file, glob, github, gitlab and gitea; write for example {path: DIR}, {url: URL}, {file: LIST}, {glob: PATTERN} or {github: {org: NAME}}`,
			`m.yaml:20:15: ref is not supported with copy; remove it, or use path`,
			`m.yaml:21:20: invalid revision "-x"; name a branch, a tag or a commit`,
			`m.yaml:22:5: duplicate repository ".", first on line 21; keep one of them`,
			`m.yaml:23:5: duplicate repository ".", first on line 21; keep one of them`,
			`m.yaml:24:12: "path" must be a string, not the number 5; put it in quotes`,
		}},
	})
}
