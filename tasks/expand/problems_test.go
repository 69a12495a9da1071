package expand

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

// besideManifest are the files that the manifests of the tables refer to.
var besideManifest = map[string]string{
	"s.yaml": "turns: []", "big.md": strings.Repeat("x", 1<<20+1), "bin.md": "\xff", "d/": "", "o.md": "hi",
}

// mistake is a manifest and what is to be said about it.
type mistake struct {
	name     string
	manifest string
	want     []string
}

// complete is what every problem in a file looks like.
var complete = regexp.MustCompile(`^m\.yaml:\d+:\d+: .+; .+$`)

func checkMistakes(t *testing.T, table []mistake) {
	t.Helper()
	for _, tt := range table {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, tt.manifest, besideManifest, tasks.Overrides{})
			got := lines(t, err)
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
		{"what looks like a permission, and a key for commands", `version: 1
model: openai/m
profiles:
  p:
    permission: {bsah: deny}
    env: [CI, OPENAI_API_KEY]
tasks: [{id: a, prompt: x}]
`, []string{
			`m.yaml:5:18: unknown permission "bsah"; did you mean "bash"?`,
			`m.yaml:6:15: "OPENAI_API_KEY" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`,
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
		{"ids that stand twice", `version: 1
model: openai/m
tasks: [{id: a, prompt: p}, {id: a, prompt: q}, {id: A, prompt: r}]`, []string{
			`m.yaml:3:34: duplicate task id "a", first at m.yaml:3; rename one of the tasks`,
			`m.yaml:3:54: task id "A" differs from "a" (m.yaml:3) only in case; rename one of the tasks`,
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
		{"needs in a circle", `version: 1
model: openai/m
tasks:
- {id: a, prompt: p, needs: [b]}
- {id: b, prompt: p, needs: [c]}
- {id: c, prompt: p, needs: [a]}
- {id: d, prompt: p, needs: [d, e, bb]}`, []string{
			`m.yaml:6:30: circular needs: a -> b -> c -> a; remove one of them`,
			`m.yaml:7:30: circular needs: d -> d; remove one of them`,
			`m.yaml:7:33: unknown task "e"; known tasks: a, b, c, d`,
			`m.yaml:7:36: unknown task "bb"; did you mean "b"?`,
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
		{"rules", `profiles:
  mine:
    permission:
      bsh: allow
      write: allow
      bash: {"x": maybe, "": allow, "y": }
      edit: [a]
      git: allow
      "~": allow
      mcp_x: allow
      batch: 
    network: maybe
    cache: ["a b"]
    env: ["A=B"]
    git: yes
    examples: [{allow: bash}, {allow: a, deny: b, subject: c}, {deny: bash, subject: "x y"}]
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:4:7: unknown permission "bsh"; did you mean "bash"?`,
			`m.yaml:5:7: the tool "write" has no rules of its own; write them under "edit"`,
			`m.yaml:6:19: "x" must be allow or deny, not the string "maybe"; write one of them`,
			`m.yaml:6:26: an empty pattern matches nothing; write "*" for everything`,
			`m.yaml:6:42: "y" must be allow or deny, not null; write one of them`,
			`m.yaml:7:13: "edit" must be allow, deny or a mapping from patterns to them, not a list; write for example {"*": allow}`,
			`m.yaml:8:12: "git" must be write or none, not the string "allow"; write one of them`,
			`m.yaml:11:13: "batch" must be allow or deny, not null; write one of them`,
			`m.yaml:12:14: "network" must be deny, allow or a list of hosts, not the string "maybe"; write one of them`,
			`m.yaml:13:13: unknown cache "a b"; known caches: go, npm, pnpm, yarn, pip, poetry, uv, cargo, maven, gradle, bundler, composer`,
			`m.yaml:14:11: invalid environment variable name "A=B"; write the name alone, such as CI`,
			`m.yaml:15:10: "git" must be write or none, not the string "yes"; write one of them`,
			`m.yaml:16:16: an example needs one tool and its subject; write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`,
			`m.yaml:16:31: an example needs one tool and its subject; write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`,
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
		{"profiles that extend each other", `profiles:
  a: {extends: b}
  b: {extends: c}
  c: {extends: a}
  d: {extends: edti}
  e: {extends: a}
profile: buidl
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:4:16: circular extends: a -> b -> c -> a; let one of them extend a preset`,
			`m.yaml:5:16: unknown profile "edti"; did you mean "edit"?`,
			`m.yaml:7:10: unknown profile "buidl"; did you mean "build"?`,
		}},
		{"a profile that a task names", `tasks:
- id: a
  prompt: p
  profile: rw
version: 1
model: openai/m
`, []string{
			`m.yaml:4:12: unknown profile "rw"; known profiles: readonly, review, edit, build, full`,
		}},
		{"models", `version: 1
model: gpt-5
tasks:
- {id: a, prompt: p}
- {id: b, prompt: p, model: opnai/x}
- {id: c, prompt: p, model: cohere/x}
- {id: d, prompt: p, model: [openai/a, opnai/b, openai/a, 5]}
- {id: e, prompt: p, model: openai/}
- {id: f, prompt: p, model: "script:nope.yaml"}
- {id: g, prompt: p, model: "script:"}
- {id: h, prompt: p, model: script:d}
- {id: i, prompt: p, model: script:s.yaml}
- {id: j, prompt: p, model: replay:nope.rec}
- {id: k, prompt: p, model: openai:x}
- {id: l, prompt: p, model: script/x}
- {id: m, prompt: p, model: scrpt:x}
- {id: n, prompt: p, model: []}
- {id: o, prompt: p, model: "replay:"}
- {id: p, prompt: p, model: replay/x}`, []string{
			`m.yaml:2:8: missing provider in model "gpt-5"; write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE`,
			`m.yaml:5:29: unknown provider "opnai"; did you mean "openai"?`,
			`m.yaml:6:29: the provider "cohere" is not supported yet; use another, or define it under providers: if it has a compatible endpoint`,
			`m.yaml:7:40: unknown provider "opnai"; did you mean "openai"?`,
			`m.yaml:7:49: duplicate model "openai/a" in "model"; keep one of them`,
			`m.yaml:7:59: entry 4 of "model" must be a string, not the number 5; put it in quotes`,
			`m.yaml:8:29: missing model name in "openai/"; write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE`,
			`m.yaml:9:29: script "nope.yaml": not found; check its path`,
			`m.yaml:10:29: missing file after script:; write script:FILE`,
			`m.yaml:11:29: script "d": not a file; check its path`,
			`m.yaml:13:29: recording "nope.rec": not found; check its path`,
			`m.yaml:14:29: invalid model "openai:x" of provider openai; write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE`,
			`m.yaml:15:29: invalid model "script/x" of provider script; write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE`,
			`m.yaml:16:29: unknown provider "scrpt"; did you mean "script"?`,
			`m.yaml:17:29: "model" is empty; add at least one model, or remove it`,
			`m.yaml:18:29: missing file after replay:; write replay:FILE`,
			`m.yaml:19:29: invalid model "replay/x" of provider replay; write PROVIDER/MODEL, such as openai/gpt-5-mini, or script:FILE`,
		}},
		{"no model", `version: 1
tasks: [{id: a, prompt: p}, {id: b, prompt: p, model: 5}]`, []string{
			`m.yaml:2:9: missing model of task "a"; add model: openai/gpt-5-mini at the top of the manifest, or use --model`,
			`m.yaml:2:55: "model" must be a string, not the number 5; put it in quotes`,
		}},
		{"no tasks", `version: 1
model: openai/m`, []string{
			`m.yaml:1:1: missing tasks; add at least one under tasks:, with an id and a prompt`,
		}},
		{"an empty list of tasks", `version: 1
model: openai/m
tasks: []`, []string{
			`m.yaml:1:1: missing tasks; add at least one under tasks:, with an id and a prompt`,
		}},
		{"keys of a task that a later release will have", `tasks:
- id: a
  prompt: p
  publish: {mode: pr, title: x, labels: [a], base: , xyz: 1}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:54: unknown key "xyz"; known here: assignees, base, body, comment, draft, fork, if_exists, labels, mode, reviewers, title`,
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
		{"words that are not known", `tasks:
- id: a
  prompt: p
  publish: {mode: prr}
  commit: {sign: x509, if_exists: x}
  agent: biuld
version: 1
model: openai/m
`, []string{
			`m.yaml:4:19: "mode" must be one of none, patch, branch, push, pr, not "prr"; did you mean "pr"?`,
			`m.yaml:5:18: "sign" must be one of none, ssh, openpgp, api, not "x509"; write none, ssh, openpgp, api, or remove it`,
			`m.yaml:5:35: "if_exists" must be one of fail, replace, skip, append, not "x"; write fail, replace, skip, append, or remove it`,
			`m.yaml:6:10: unknown agent "biuld"; did you mean "build"?`,
		}},
		{"a commit", `tasks:
- id: a
  prompt: p
  commit: {message: 5, branch: "a b", author: {name: x}, protect: x, foo: 1}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:21: "message" must be a string, not the number 5; put it in quotes`,
			`m.yaml:4:32: invalid branch name "a b"; it must not contain ' '`,
			`m.yaml:4:39: missing key "email" in "author"; add email: ADDRESS`,
			`m.yaml:4:67: "protect" must be a list, not the string "x"; put it in brackets: [x]`,
			`m.yaml:4:70: unknown key "foo"; known here: author, branch, if_exists, include, message, protect, sign, wip`,
		}},
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
			`m.yaml:4:20: an author's name and email must not contain <, > or line breaks; remove them`,
		}},
		{"branches of several jobs", `version: 1
model: openai/m
tasks:
- {id: a, prompt: p, commit: {branch: x}}
- {id: b, prompt: p, commit: {branch: x}}
- {id: c, prompt: p, commit: {branch: x/y}}
- {id: d, prompt: p, matrix: {k: [1, 2]}, commit: {branch: d}}`, []string{
			`m.yaml:5:39: the jobs a and b would both commit to the branch "x"; give each task a branch of its own, with ${{ matrix.KEY }} in it if it has a matrix`,
			`m.yaml:6:39: git cannot have the branch "x/y" (of job c) beside "x"; rename one of them`,
			`m.yaml:7:60: the jobs d-1 and d-2 would both commit to the branch "d"; give each task a branch of its own, with ${{ matrix.KEY }} in it if it has a matrix`,
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
		{"variables", `tasks:
- id: a
  prompt: p
  vars: {name: x}
  matrix: {major: [4]}
  setup:
  - echo ${{ vars.nam }}
  - echo "${{ var.name }}" ${{ matrix.minor }}
  verify:
  - name: v
    run: >-
      a
      ${{ env.NOPE }} $${{ ok }} ${{ repo.nme }}
      ${{ secrets.X }}
      ${{ open
      ${{ }}
      ${{ a b }} ${{ vars.x.y }}
  commit:
    message: "x ${{ foo.bar }}"
version: 1
model: openai/m
`, []string{
			`m.yaml:7:10: unknown variable "vars.nam"; did you mean "vars.name"?`,
			`m.yaml:8:11: unknown variable "var.name"; did you mean "vars.name"?`,
			`m.yaml:8:28: unknown variable "matrix.minor"; did you mean "matrix.major"?`,
			`m.yaml:13:7: the environment variable NOPE is not set; set it, or use vars: for a value of the manifest`,
			`m.yaml:13:34: unknown variable "repo.nme"; did you mean "repo.name"?`,
			`m.yaml:14:7: unknown variable "secrets.X"; write vars.NAME, matrix.KEY, repo.name, repo.ref, env.NAME, task.id, run.id, run.date or event.PATH, or $${{ for the text ${{ itself`,
			`m.yaml:15:7: ${{ without }} on the same line; write ${{ vars.NAME }}, or $${{ for the text ${{ itself`,
			`m.yaml:16:7: invalid variable ""; write ${{ vars.NAME }}, or $${{ for the text ${{ itself`,
			`m.yaml:17:7: invalid variable "a b"; write ${{ vars.NAME }}, or $${{ for the text ${{ itself`,
			`m.yaml:17:18: unknown variable "vars.x.y"; known variables: vars.name`,
			`m.yaml:19:17: unknown variable "foo.bar"; write vars.NAME, matrix.KEY, repo.name, repo.ref, env.NAME, task.id, run.id, run.date or event.PATH, or $${{ for the text ${{ itself`,
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
		{"a matrix that excludes all", `tasks:
- id: a
  prompt: p
  matrix: {k: [1], exclude: [{k: 1}]}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:11: exclude removes every combination of the matrix; keep one, or remove the task`,
		}},
		{"a matrix that is too big", `tasks:
- id: a
  prompt: p
  matrix: {a: &l [0,1,2,3,4,5,6,7,8,9], b: *l, c: *l, d: *l, e: [1,2,3,4,5,6]}
version: 1
model: openai/m
`, []string{
			`m.yaml:4:11: the plan has more than 50000 jobs; split it`,
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
		{"prices", `prices:
  openai/m: {input: 1}
  opnai/m: {input: 1, output: -2}
  anthropic/x: {input: 0, output: 0, cache_read: x}
version: 1
model: openai/m
tasks: [{id: a, prompt: p}]`, []string{
			`m.yaml:2:3: missing key "output" in "openai/m"; add output: 2.00`,
			`m.yaml:3:3: unknown provider "opnai"; did you mean "openai"?`,
			`m.yaml:3:31: "output" must be an amount in USD, not the number -2; write for example 1.50`,
			`m.yaml:4:50: "cache_read" must be an amount in USD, not the string "x"; write for example 1.50`,
		}},
	})
}
