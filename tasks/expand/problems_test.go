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
		{"ids that stand twice", `version: 1
model: openai/m
tasks: [{id: a, prompt: p}, {id: a, prompt: q}, {id: A, prompt: r}]`, []string{
			`m.yaml:3:34: duplicate task id "a", first at m.yaml:3; rename one of the tasks`,
			`m.yaml:3:54: task id "A" differs from "a" (m.yaml:3) only in case; rename one of the tasks`,
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
