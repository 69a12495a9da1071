package expand

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

// oldHashes are manifests with the first digits of the hashes that their plans and first jobs
// have had since these keys exist. A resumed run, a rollout and a worker compare hashes that
// different versions have computed: a new key adds nothing to the hash where it is absent.
// A preset is hashed by its name.
var oldHashes = []struct{ name, plan, job, manifest string }{
	{"prompt", "98b17c808f53f2d8", "0d66fdd2833e9606", `tasks: [{id: fix, prompt: Fix it}]`},
	{"limits", "5fa4e0c9c877d179", "efd55e3d79c89578", `
limits: {turns: 7, cost: 1.50, time: 20m, tokens: 9000, denials: 3, failures: 4}
tasks: [{id: fix, prompt: Fix it, limits: {disk: 2GB, memory: 1GB, processes: 64}}]`},
	{"budget and jobs", "98b17c808f53f2d8", "0d66fdd2833e9606", `
jobs: 8
clones: 2
budget: {cost: 20, time: 2h}
tasks: [{id: fix, prompt: Fix it}]`},
	{"variables", "8d825cd5b8220e31", "7f426db494e085c7", `
vars: {team: shop, n: 5.10}
tasks: [{id: fix, prompt: "Fix ${{ vars.team }} ${{ vars.n }} on ${{ repo.name }}", vars: {team: core}}]`},
	{"matrix", "afd398b8256dbcb9", "df9c5521f1354e08", `
tasks:
  - id: up
    prompt: Raise ${{ matrix.lib }} for ${{ matrix.os }}
    matrix: {lib: [a, b], os: [linux, darwin], exclude: [{lib: a, os: darwin}], include: [{lib: c, os: linux}]}`},
	{"needs", "71ef3262d7c9ebfb", "926e41f061b587ed", `
tasks:
  - {id: second, prompt: After it, needs: [first]}
  - {id: first, prompt: Before it}`},
	{"condition", "c1034c996766948c", "40679b05cb6336e7", `
vars: {team: shop}
tasks: [{id: fix, prompt: Fix it, if: "vars.team == 'shop' && repo.has('go.mod')"}]`},
	{"skipped", "a20cd6a123b677f1", "f17df4dea54e2bc0", `tasks: [{id: fix, prompt: Fix it, if: "task.id != 'fix'"}]`},
	{"commands", "825f43f06a4f8170", "053c7687f55418bb", `
tasks:
  - id: fix
    prompt: Fix it
    setup: [npm ci]
    setup_env: [BUILD]
    verify: [go vet ./..., {name: tests, run: go test ./..., time: 3m}, {run: make, in: clean}]
    baseline: must_fail
    attempts: 4
    require_changes: true`},
	{"change", "21a38a0256e8c5d0", "b50404df32277de0", `tasks: [{id: fix, prompt: Fix it, change: {paths: ["src/**", docs], max_files: 9, max_lines: 300, no_deleted_tests: true}}]`},
	{"ablate", "469eec04dca18cbb", "96d6c75415411b31", `tasks: [{id: fix, prompt: Fix it, verify: [make], ablate: {time: 5m, jobs: 2}, change: {unneeded: fail}}]`},
	{"commit", "b04ac33a0c17f4c5", "0037f3e1531c4317", `
tasks:
  - id: fix
    prompt: Fix it
    commit: {message: "fix: it", branch: "fix/${{ task.id }}", author: Ann <ann@example.com>, if_exists: replace, protect: ["*.lock"], wip: true, include: [setup, build]}`},
	{"no commit", "af45d56c07d384d1", "f2f7b435699cf770", `
allow_dirty: true
tasks: [{id: fix, prompt: Fix it, commit: false}]`},
	{"pull request", "c76c4f53f9ec7a00", "d5de06ea4305c678", `
repos: [{url: "https://git.example.com/ann/shop", ref: main, depth: 10}]
forges: {git.example.com: {kind: gitea, token_env: FORGE_TOKEN}}
tasks:
  - id: fix
    prompt: Fix it
    publish: {mode: pr, base: main, title: "Fix: ${{ summary }}", body: Done, draft: true, labels: [bot], reviewers: [ann], assignees: [bob], if_exists: append, fork: auto}`},
	{"comment", "28fe1685b98c11a1", "9ffa1d2990de93d7", `
repos: [{url: "https://github.com/ann/shop"}]
tasks: [{id: fix, prompt: Fix it, publish: {mode: push, comment: {issue: 12, sticky: true}}}]`},
	{"output", "dc23ff3f6b438bf7", "683be9e35241573e", `tasks: [{id: fix, prompt: Fix it, output: {schema: {type: object, properties: {risk: {type: integer}}}, file: report.json}}]`},
	{"findings", "78a66b133618012b", "e0b9cc1f243d4a29", `tasks: [{id: fix, prompt: Review it, output: findings}]`},
	{"models", "85c9cb1c29070429", "883b7c538cd00ccb", `
allow_unknown_price: true
effort: high
temperature: 0.5
max_output: 5000
prices: {script:model.yaml: {input: 0.25, output: 2, tiers: [{above: 200000, input: 1, output: 4}]}}
providers: {acme: {kind: openai, base_url: "https://ai.example.com/v1", key_env: ACME_KEY, headers: {X-Team: shop}, models: {big: {input: 1, output: 5, window: 100000}}, timeouts: {idle: 5m}, retry: {max_wait: 1h}}}
tasks: [{id: fix, prompt: Fix it, model: [acme/big, script:model.yaml]}]`},
	{"keys", "8e5357d4bcdb2297", "0d66fdd2833e9606", `
providers:
  acme: {kind: openai, base_url: "https://ai.example.com/v1", key_command: [mint, token], ttl: 5m}
  filed: {kind: openai, base_url: "https://filed.example.com/v1", token_file: keys/token}
tasks: [{id: fix, prompt: Fix it}]`},
	{"agents", "bc002b37ebb14089", "7e9fbbe5a3adb1b8", `
agents: {checker: {description: Checks, prompt: You check., mode: all, turns: 5, profile: own, effort: low}}
tasks: [{id: fix, prompt: Fix it, agent: checker}]`},
	{"profiles", "41e536c1645fc966", "23ba87229968cf9e", `
profiles:
  wide: {extends: own, permission: {bash: {"go *": allow, "*": deny}, external_directory: {"~/notes/*": allow}}, network: [example.com], setup_network: deny, cache: [go], env: [CI], git: write}
tasks: [{id: fix, prompt: Fix it, profile: wide}]`},
	{"presets", "faf92946d5b79ece", "23c5ba69f0c4eb7d", `
profiles:
  more: {extends: build, permission: {webfetch: allow}, network: [example.com]}
tasks: [{id: fix, prompt: Fix it, profile: full}, {id: next, prompt: Fix it, profile: more}]`},
	{"tools", "654a263009ff8f44", "0d66fdd2833e9606", `
batch: true
tool_output: {lines: 50, bytes: 4096}
search: {backend: exa, key_env: EXA_KEY}
tools: {lint: {description: Lints, command: [make, lint], parameters: {path: {type: string}}, time: 1m, read_only: true}}
mcp: {docs: {command: [docs-server, --stdio], environment: {TEAM: shop}, tools: {search: true}, timeout: 40s}, web: {type: remote, url: "https://mcp.example.com/mcp"}}
tasks: [{id: fix, prompt: Fix it}]`},
	{"hooks", "6d018c8a0c35e7cd", "0d66fdd2833e9606", `
hooks: {job_start: [{run: echo start}], before_tool: [{run: [guard, --strict], tools: [bash], time: 5s, optional: true}]}
lsp: {gopls: {command: [gopls, -remote=auto]}}
lsp_diagnostics: {wait: 2s}
evidence: {sign: none}
tasks: [{id: fix, prompt: Fix it}]`},
	{"rollout", "98b17c808f53f2d8", "0d66fdd2833e9606", `
rollout: {canary: [shop], waves: [2, 50%], advance: {passed: 90%}, stop: {failed: 20%}}
tasks: [{id: fix, prompt: Fix it}]`},
	{"files", "a45d10882c8588bd", "02ac6a4283bb78e5", `
instructions: [notes.md]
skills: [skills]
commands: {sweep: {template: Sweep $ARGUMENTS}}
tasks: [{id: fix, command: sweep, arguments: the floor, script: run.sh}]`},
}

func TestOldManifestsKeepTheirHashes(t *testing.T) {
	for _, old := range oldHashes {
		t.Run(old.name, func(t *testing.T) {
			manifest := old.manifest + "\n"
			head := "version: 1\nmodel: script:model.yaml\nprofile: own\n"
			profile := "  own: {permission: {edit: allow, read: allow}}\n"
			if strings.Contains(manifest, "\nprofiles:\n") {
				manifest = strings.Replace(manifest, "\nprofiles:\n", "\nprofiles:\n"+profile, 1)
			} else {
				head += "profiles:\n" + profile
			}
			plan, err := loadText(t, head+manifest, map[string]string{"model.yaml": "", "notes.md": "Be brief.", "run.sh": "#!/bin/sh\n", "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies\n---\n"}, tasks.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			if got := plan.Hash[:16]; got != old.plan {
				t.Errorf("hash of the plan: got %s, want %s", got, old.plan)
			}
			if got := plan.Jobs[0].Hash[:16]; got != old.job {
				t.Errorf("hash of the first job: got %s, want %s", got, old.job)
			}
		})
	}
}
