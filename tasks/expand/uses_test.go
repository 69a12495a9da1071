package expand

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

const queued = `version: 1
model: script:../models/model.yaml
repos: [{url: "https://git.example.com/a/b.git"}, {url: "https://git.example.com/a/c"}]
`

// machine has files of every kind that manifests name.
func machine() map[string]string {
	return map[string]string{
		"m/manifest.yaml": "", "models/model.yaml": "turns: []\n", "models/recorded.jsonl": "",
		"text/style.md": "Be brief.\n", "text/more/a.md": "A.\n", "text/more/b.md": "B.\n",
		"m/.opencode/agent/reviewer.md":     "---\ndescription: reviews\nmodel: replay:../models/recorded.jsonl\n---\nReview.\n",
		"m/.opencode/commands/git/clean.md": "Clean $1.\n",
		"m/skills/tidy/SKILL.md":            "---\nname: tidy\ndescription: tidies\n---\nTidy.\n",
		"m/skills/tidy/templates/t.txt":     "T", "m/skills/.git/config": "secret",
		"m/bin/tool.sh!": "#!/bin/sh\n. ./lib.sh\n", "m/bin/lib.sh": "", "m/bin/token.txt": "secret", "m/bin/data/empty/": "",
		"helpers/server.sh!": "#!/bin/sh\n", "helpers/issues.json": "{}", "data/list/words.txt": "w",
		"m/scripts/check.sh": "exit 0\n", "m/scripts/setup.sh": "exit 0\n", "m/change.sh": "exit 0\n", "lists/repos.txt": "https://git.example.com/a/d\n",
		"event.json": `{"number": 7, "comment": {"body": "Hello."}}`, "profile.yaml": "extends: edit\n",
		"m/ignored.txt": "", "empty/": "",
	}
}

// machineDir writes these files; a name that ends in "!" is a program.
func machineDir(t *testing.T, files map[string]string) string {
	t.Helper()
	plain := map[string]string{}
	for name, content := range files {
		plain[strings.TrimSuffix(name, "!")] = content
	}
	dir := dirWith(t, plain)
	for name := range files {
		if path, program := strings.CutSuffix(name, "!"); program {
			if err := os.Chmod(filepath.Join(dir, path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestAPlanOfItsInputsIsTheSamePlan compares what plans use of a machine.
func TestAPlanOfItsInputsIsTheSamePlan(t *testing.T) {
	for name, of := range map[string]struct {
		manifest  string
		overrides tasks.Overrides
		inputs    string // all files beside manifest and model, below the machine's directory
		variables string
	}{
		"minimal":             {manifest: "tasks: [{id: a, prompt: A}]"},
		"matrix":              {manifest: "tasks: [{id: a, prompt: 'A ${{ matrix.x }}', matrix: {x: [1, 2]}, needs: [b]}, {id: b, prompt: B, if: '!repo.has(\"x\") && env.UNSET == \"\"'}]", variables: "UNSET"},
		"agents and commands": {manifest: "agents_from: [.opencode]\ncommands_from: [.opencode]\ntasks: [{id: a, command: git/clean, arguments: x, agent: build}]", inputs: "m/.opencode m/.opencode/agent/reviewer.md m/.opencode/commands/git/clean.md models/recorded.jsonl"},
		"instructions":        {manifest: "instructions: [../text/style.md, '../text/more/*.md']\ntasks: [{id: a, prompt: A}]", inputs: "text/more/a.md text/more/b.md text/style.md"},
		"skills":              {manifest: "skills: [skills, ../empty]\ntasks: [{id: a, prompt: A}]", inputs: "empty m/skills m/skills/tidy/SKILL.md m/skills/tidy/templates/t.txt"},
		"script":              {manifest: "tasks: [{id: a, prompt: A, script: ./change.sh}]", inputs: "m/change.sh"},
		"tools": {
			manifest: "tools: {x: {description: X, command: [./bin/tool.sh, a]}, y: {description: Y, command: cat ../x bin/lib.sh}, z: {description: Z, command: [/bin/sh, -c, ls]}}\ntasks: [{id: a, prompt: A}]",
			inputs:   "m/bin m/bin/data/empty m/bin/lib.sh m/bin/tool.sh",
		},
		"servers": {
			manifest:  "mcp: {i: {command: [../helpers/server.sh], environment: {TOKEN: '${{ env.TOKEN }}'}, read: [../data]}, r: {type: remote, url: 'https://x.example.com', headers: {Authorization: 'Bearer {env:BUILD}'}}}\nlsp: {l: {command: [../helpers/server.sh], extensions: [.x]}, gopls: {}}\ntasks: [{id: a, prompt: A}]",
			inputs:    "data data/list/words.txt helpers helpers/issues.json helpers/server.sh",
			variables: "BUILD TOKEN",
		},
		"hooks":        {manifest: "hooks: {after_tool: [{run: [./bin/tool.sh]}], job_end: [{run: bash scripts/check.sh}]}\ntasks: [{id: a, prompt: A}]", inputs: "m/bin m/bin/data/empty m/bin/lib.sh m/bin/tool.sh m/scripts m/scripts/check.sh m/scripts/setup.sh"},
		"commands":     {manifest: "tasks: [{id: a, prompt: A, setup: [bash ./scripts/setup.sh], setup_env: [TOKEN], verify: [sh scripts/check.sh]}]", inputs: "m/scripts m/scripts/check.sh m/scripts/setup.sh", variables: "TOKEN"},
		"list":         {manifest: "tasks: [{id: a, prompt: A, repos: [{file: ../lists/repos.txt, exclude: [x]}]}]", inputs: "lists/repos.txt"},
		"event":        {manifest: "tasks: [{id: a, prompt: 'A ${{ event.comment.body }}', publish: {comment: {issue: '${{ event.number }}'}}}]", inputs: "event.json"},
		"names":        {manifest: "providers: {own: {kind: openai, base_url: 'https://x.example.com', key_env: OWN_KEY, headers: {X-Team: '${{ env.BUILD }}'}}}\nforges: {git.example.com: {kind: gitea, token_env: OWN_TOKEN}}\nsearch: {backend: exa, key_env: EXA_KEY}\ntasks: [{id: a, prompt: '${{ env.BUILD }}', fallback: [own/x]}]", variables: "BUILD EXA_KEY OWN_KEY OWN_TOKEN"},
		"command line": {manifest: "tasks: [{id: a, prompt: A}, {id: b, prompt: B}]", overrides: tasks.Overrides{Model: "replay:models/recorded.jsonl", Profile: "profile.yaml", Only: []string{"b"}, Shard: tasks.Shard{Index: 1, Total: 2}}, inputs: "models/recorded.jsonl profile.yaml"},
		"source":       {manifest: "tasks: [{id: a, prompt: A, repos: [{github: {org: acme}}]}]"},
	} {
		for _, absolute := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s absolute %t", name, absolute), func(t *testing.T) {
				dir := machineDir(t, machine())
				manifest := filepath.Join(dir, "m", "manifest.yaml")
				text := queued + of.manifest
				if strings.Contains(of.manifest, "fallback") {
					text = strings.Replace(strings.Replace(text, "script:../models/model.yaml", "[script:../models/model.yaml, own/x]", 1), ", fallback: [own/x]", "", 1)
				}
				if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				o := tasks.Options{Dir: dir, Overrides: of.overrides, Getenv: func(name string) string {
					return map[string]string{"HOME": "/home/ann", "BUILD": "17", "TOKEN": "t", "GITHUB_EVENT_PATH": "event.json"}[name]
				}, Lists: []tasks.Listed{{Source: tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme"}, Repos: []tasks.ListedRepo{{Name: "acme/x", DefaultBranch: "main"}}}}}
				manifests := []string{"m/manifest.yaml"}
				if absolute {
					manifests[0] = manifest
					if o.Overrides.Profile != "" {
						o.Overrides.Profile = filepath.Join(dir, o.Overrides.Profile)
					}
				}
				p, err := Load(t.Context(), manifests, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Unqueueable(); err != nil {
					t.Fatal(err)
				}
				var inputs []string
				for _, path := range p.Inputs() {
					if below, _ := filepath.Rel(dir, path); below != "m/manifest.yaml" && below != "models/model.yaml" {
						inputs = append(inputs, below)
					}
				}
				if got := strings.Join(inputs, " "); got != of.inputs {
					t.Errorf("inputs\n%s, want\n%s", got, of.inputs)
				}
				if got := strings.Join(p.Variables(), " "); got != of.variables {
					t.Errorf("variables %s, want %s", got, of.variables)
				}
				comparePlans(t, manifests, o, p, dir)
			})
		}
	}
}

func TestAJobRequiresTheVariablesThatItReads(t *testing.T) {
	dir := dirWith(t, map[string]string{"m.yaml": `version: 1
model: openai/gpt-5-mini
search: {backend: exa, key_env: EXA_KEY}
forges: {git.example.com: {kind: gitea, token_env: FORGE_TOKEN}}
repos: [{url: "https://git.example.com/a/b"}]
tasks:
  - {id: a, prompt: "${{ env.BUILD }}", if: "env.CI && env.UNSET == ''", setup: ["true"], setup_env: [NPM_TOKEN, CI]}
  - {id: b, prompt: B}
`})
	o := options(dir)
	o.Getenv = func(name string) string {
		return map[string]string{"BUILD": "17", "CI": "true", "NPM_TOKEN": "x", "HOME": "/home/ann"}[name]
	}
	p, err := Load(t.Context(), []string{"m.yaml"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range p.Jobs { // each worker loads the plan
		if got, want := fmt.Sprint(p.Requires(j)), "[[BUILD] [CI] [EXA_KEY] [NPM_TOKEN]]"; got != want {
			t.Errorf("%s requires %s, want %s", j.ID, got, want)
		}
	}
	if got, want := fmt.Sprint(p.Variables()), "[BUILD CI EXA_KEY FORGE_TOKEN NPM_TOKEN UNSET]"; got != want {
		t.Errorf("variables %s, want %s", got, want)
	}
}

// What looks like a secret, and what symlinks lead to elsewhere, is no input.
func TestInputsHaveNoSecrets(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"m/m.yaml": `version: 1
model: openai/gpt-5-mini
skills: [linked]
repos: [{url: "https://git.example.com/a/b"}]
tasks: [{id: a, prompt: A, verify: [bash scripts/check.sh, bash other/run.sh]}]
`,
		"m/scripts/check.sh": "", "m/scripts/.env": "", "m/scripts/api_token.txt": "", "m/scripts/keys/private/x": "", "m/scripts/plain.txt": "",
		"elsewhere/run.sh": "", "elsewhere/key.pem": "", "skills/tidy/SKILL.md": "", "skills/tidy/.hidden": "", "secret.txt": "",
	})
	for name, target := range map[string]string{
		"m/linked": "../skills", "m/other": "../elsewhere", "m/scripts/a": "../../secret.txt", "m/scripts/b": "api_token.txt", "m/scripts/c": "plain.txt",
		"m/scripts/d": "keys/private/x", "m/scripts/e": "missing", "skills/tidy/f": "SKILL.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "m/scripts/keys/private"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Load(t.Context(), []string{"m/m.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	const want = "m/linked m/linked/tidy/.hidden m/linked/tidy/SKILL.md m/linked/tidy/f m/m.yaml m/other m/other/run.sh m/scripts m/scripts/c m/scripts/check.sh m/scripts/plain.txt"
	if got := strings.ReplaceAll(strings.Join(p.Inputs(), " "), dir+"/", ""); got != want {
		t.Errorf("inputs\n%s, want\n%s", got, want)
	}
}
