package expand

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// FuzzLoad looks for manifests that crash the loader, and for results that
// break what Load promises.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"everything", "matrix", "minimal", "bulk"} {
		data, err := os.ReadFile(filepath.Join("testdata", name, "millhand.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		"", "# x", "- a", "a: &a [*a]", "<<: {version: 1}", "? x\n: y", "a: !!binary x", "version: 1\n---\n", "\ufeffversion: 1", "a: |\n  ${{ x", "tasks: [{<<: *x}]",
		oneTask + "profiles: {a: {extends: b}, b: {extends: a}}", oneTask + "vars: {x: \"\\x24{{ y }}\"}", head + "tasks: [{id: a, prompt: p, matrix: {include: [{a: 1}], exclude: [{}]}}]",
		oneTask + "repos: [{glob: '*/*', exclude: [x]}, {url: 'git@h:a/b', ref: c, depth: 1}, {file: list.txt, include: ['*']}, {file: '-'}]",
		head + "tasks: [{id: a, prompt: p, if: \"vars.x == 'y' && repo.has('z') || !matches(task.id, '(')\", publish: {mode: push}, commit: {if_exists: append, branch: '@current'}}]",
		oneTask + "agents: {a: {prompt: \"x ${{ env.BUILD }}\", profile: edit, model: h/m, turns: 5, mode: all, description: d}, plan: {effort: low}}\nproviders: {h: {kind: openai, base_url: 'https://h', headers: {A: '${{ env.X }}'}, query: {a: 1}}}",
		oneTask + "search: {backend: json, url: 'http://h/?a=b', key_env: K}\ntools: {t: {description: d, command: [./model.yaml, x], parameters: {type: object}, time: 5s}}\nskills: [docs]\nbatch: true\ntool_output: {lines: 5, bytes: 9}\ntemperature: 0.5",
		head + "tasks: [{id: a, prompt: p, model: [openai/a, 'replay:model.yaml'], output: {schema: {$ref: '#/$defs/x', $defs: {x: {pattern: '^(a|b)+$', type: [object, 'null']}}, $id: x, $anchor: y, default: .inf}}}]",
		"a:\n  b:\n#c\n #d\n  - e", "a: \t\n\tb", "%TAG ! x\n---\na", "x: 'é\n\n${{ vars.é }}'",
	} {
		f.Add([]byte(s))
	}
	dir := dirWith(f, map[string]string{"docs/agents.md": "Be brief.", "model.yaml": "x", "recorded.jsonl": "x", "skills/": "", "bin/echo.sh": "x", "services/api/": "", "legacy/api/": "", "shop/": "", "services/api/.git/": "", "list.txt": "copy:shop\nhttps://h/c.git # d\n", "repos.txt": "shop\n"})
	if err := os.Chmod(filepath.Join(dir, "bin", "echo.sh"), 0o755); err != nil {
		f.Fatal(err)
	}
	lineBreak := regexp.MustCompile(`\r\n|[\n\r\x{85}\x{2028}\x{2029}]`)
	f.Fuzz(func(t *testing.T, data []byte) {
		o := options(dir)
		o.Stdin = func() ([]byte, error) { return data, nil }
		p, err := Load(context.Background(), []string{"-"}, o)
		var ps problem.List
		switch {
		case err == nil:
			checkPlan(t, p)
		case !errors.As(err, &ps) || len(ps) == 0 || p != nil:
			t.Fatalf("plan %v, error %v", p, err)
		}
		rows := len(lineBreak.Split(string(data), -1))
		for _, problem := range ps {
			if problem.Line < 0 || problem.Line > rows || problem.What == "" || strings.ContainsAny(problem.String(), "\r\n") {
				t.Fatalf("problem %q", problem)
			}
		}
	})
}

// checkPlan checks what holds for every plan.
func checkPlan(t *testing.T, p *tasks.Plan) {
	t.Helper()
	ids := map[string]bool{}
	for _, j := range p.Jobs {
		if ids[strings.ToLower(j.ID)] || j.ID == "" || len(j.ID) > 120 || tasks.BranchFault(tasks.BranchPrefix+j.ID) != "" || strings.Contains(j.ID, "/") {
			t.Fatalf("id %q", j.ID)
		}
		ids[strings.ToLower(j.ID)] = true
		if c := j.Commit; c != nil && c.Branch != tasks.CurrentBranch && tasks.BranchFault(c.Branch) != "" {
			t.Fatalf("branch %q", c.Branch)
		}
		if strings.TrimSpace(j.Prompt) == "" || j.Model == "" || j.Profile.Name == "" || j.Attempts < 1 || j.Limits.Turns < 1 || j.Limits.Time <= 0 || j.Matrix == nil || j.Publish == "" || j.Skip != "" && j.If != nil {
			t.Fatalf("job %+v", j)
		}
	}
	for i, j := range p.Jobs {
		if again, named, err := repolist.ParseRepoLine(j.Repo.Location()); err != nil || !named || again.Dir != j.Repo.Dir || again.URL != j.Repo.URL || again.Ref != j.Repo.Ref || j.Index != i+1 {
			t.Fatalf("job %d is number %d, and its repository %+v is read back as %+v, %v", i, j.Index, j.Repo, again, err)
		}
		for _, n := range j.Needs {
			if !ids[strings.ToLower(n)] {
				t.Fatalf("job %s needs %s, which is missing", j.ID, n)
			}
		}
	}
	agents := map[string]bool{}
	for _, a := range p.Agents {
		if agents[a.Name] || a.Name == "" {
			t.Fatalf("agent %+v", a)
		}
		agents[a.Name] = true
	}
	for _, j := range p.Jobs {
		if !agents[j.Agent] || j.Schema != nil && j.Schema["type"] != "object" {
			t.Fatalf("job %+v", j)
		}
		if _, err := json.Marshal(j.Schema); err != nil {
			t.Fatalf("schema %v: %v", j.Schema, err)
		}
	}
	for _, tool := range p.Tools {
		if len(tool.Command) == 0 || tool.Description == "" || tool.Schema["type"] != "object" || tool.Time <= 0 {
			t.Fatalf("tool %+v", tool)
		}
	}
	if len(p.Jobs) == 0 || p.Parallel < 1 || len(p.Hash) != 64 {
		t.Fatalf("plan %+v", p)
	}
}
