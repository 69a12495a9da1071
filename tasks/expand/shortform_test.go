package expand

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// A short form and the mapping that it stands for are the same plan, and both are in the schema.
func TestAShortFormIsThePlanOfItsMapping(t *testing.T) {
	files := map[string]string{"one/.git/": "", "two/.git/": ""}
	valid := compiled(t, manifest.JSONSchema())
	load := func(text string) string {
		t.Helper()
		p, err := loadText(t, head+text, files, tasks.Overrides{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var doc any
		if err := yaml.Unmarshal([]byte(head+text), &doc); err != nil {
			t.Fatal(err)
		}
		if err := valid.Validate(asJSON(t, doc)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for i := range p.Jobs {
			p.Jobs[i].Repo.Dir = filepath.Base(p.Jobs[i].Repo.Dir)
		}
		data, err := json.Marshal(p.Jobs)
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash + "\n" + string(data)
	}
	task := func(keys string) string { return "tasks: [{id: a, prompt: p, " + keys + "}]\n" }
	for short, long := range map[string]string{
		task("repos: [one, ./two]"):                               task("repos: [{path: one}, {path: ./two}]"),
		"repos: [one, {path: two}]\n" + task(""):                  "repos: [{path: one}, {path: two}]\n" + task(""),
		task(`repos: ["https://h.example/a", "git@h.example:b"]`): task(`repos: [{url: "https://h.example/a"}, {url: "git@h.example:b"}]`),
		"vars: {r: &r one}\n" + task("repos: [*r]"):               "vars: {r: one}\n" + task("repos: [{path: one}]"),
		task("publish: pr"):                                       task("publish: {mode: pr}"),
		task("publish: none"):                                     task("commit: {}"),
		task("change: ['docs/**', '*.md']"):                       task("change: {paths: ['docs/**', '*.md']}"),
		task("output: findings"):                                  task("output: {schema: findings}"),
		task("commit: {author: 'Ann B <ann@h.example>'}"):         task("commit: {author: {name: Ann B, email: ann@h.example}}"),
		"hooks: {before_commit: [make fmt]}\n" + task(""):         "hooks: {before_commit: [{run: make fmt}]}\n" + task(""),
	} {
		if diff := cmp.Diff(load(long), load(short)); diff != "" {
			t.Errorf("%s: (-long +short):\n%s", short, diff)
		}
	}
}

func TestInvalidShortForms(t *testing.T) {
	for text, want := range map[string]string{
		`repos: [nope]`:                `m.yaml:4:9: directory "nope": not found; check its path; it is relative to the manifest`,
		`repos: ["n*"]`:                `m.yaml:4:9: directory "n*": not found; write {glob: PATTERN} for a pattern`,
		`repos: ["ftp://h.example/a"]`: `m.yaml:4:9: the scheme "ftp" is not supported; use https, http, ssh or file`,
		`repos: [5]`:                   `m.yaml:4:9: entry 1 of "repos" must be a mapping, not the number 5; write KEY: VALUE`,
		`repos: [""]`:                  `m.yaml:4:9: entry 1 of "repos" must be a mapping, not the string ""; write KEY: VALUE`,
		`tasks: [{id: b, prompt: p, output: out.json}]`:      `m.yaml:4:36: "output" must be a mapping, not the string "out.json"; write KEY: VALUE`,
		`tasks: [{id: b, prompt: p, change: 5}]`:             `m.yaml:4:36: "change" must be a mapping, not the number 5; write KEY: VALUE`,
		`tasks: [{id: b, prompt: p, commit: {author: ann}}]`: `m.yaml:4:45: invalid author "ann"; write NAME <EMAIL>, or {name: NAME, email: EMAIL}`,
	} {
		_, err := loadText(t, strings.TrimSuffix(head, "\n")+"\nname: n\n"+text+"\n"+map[bool]string{true: "tasks: [{id: a, prompt: p}]\n"}[!strings.HasPrefix(text, "tasks")], nil, tasks.Overrides{})
		if diff := cmp.Diff([]string{want}, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
