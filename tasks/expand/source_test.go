package expand

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// listOfNames makes the list of a source.
func listOfNames(s tasks.Source, names ...string) tasks.Listed {
	l := tasks.Listed{Source: s}
	for _, name := range names {
		l.Repos = append(l.Repos, tasks.ListedRepo{Name: name})
	}
	return l
}

// loadSources loads a manifest with repos, given the lists of sources.
func loadSources(t *testing.T, repos string, lists ...tasks.Listed) (*tasks.Plan, error) {
	t.Helper()
	opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + "repos: " + repos + "\n", "list.txt": "https://github.com/Acme/API.git ref=next\n"}))
	opts.Lists = lists
	return Load(t.Context(), []string{"m.yaml"}, opts)
}

func TestSourcesAreReadAndListed(t *testing.T) {
	const repos = `
  - {github: {org: acme, topic: go, search: api, language: Go, archived: true, forks: true, include: ["acme/*"], exclude: [old]}, ref: next, depth: 3}
  - {gitlab: {group: acme/tools}}
  - {gitea: {host: 127.0.0.1:3000, org: acme}}
  - {gitea: {host: 127.0.0.1:3000, org: acme}, ref: next}`
	first := tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme", Topic: "go", Search: "api", Language: "Go", Archived: true, Forks: true, Include: []string{"acme/*"}, Exclude: []string{"old"}, At: "m.yaml:5"}
	lab := tasks.Source{Kind: tasks.GitLab, Host: "gitlab.com", Owner: "acme/tools", At: "m.yaml:6"}
	local := tasks.Source{Kind: tasks.Gitea, Host: "127.0.0.1:3000", Owner: "acme", At: "m.yaml:7"}
	p, err := loadSources(t, repos)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tasks.Source{first, lab, local}, p.Unlisted()); diff != "" || len(p.Sources) != 3 {
		t.Errorf("%s", diff)
	}
	for _, j := range p.Jobs {
		if !j.Repo.Unlisted {
			t.Error(j.Repo)
		}
	}

	p, err = loadSources(t, repos, listOfNames(first, "acme/web", "acme/api"), listOfNames(lab, "acme/tools/api"), listOfNames(local, "acme/x"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range p.Jobs {
		got = append(got, j.ID+" "+j.Repo.Location())
	}
	want := []string{
		"a-acme-api https://github.com/acme/api.git ref=next", "a-web https://github.com/acme/web.git ref=next",
		"a-tools-api https://gitlab.com/acme/tools/api.git", "a-x http://127.0.0.1:3000/acme/x.git",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Jobs[0].Repo.Depth != 3 || len(p.Sources) != 3 || len(p.Unlisted()) != 0 {
		t.Errorf("%+v", p)
	}
	kinds := []string{}
	for _, f := range p.Forges {
		kinds = append(kinds, f.Host+" "+string(f.Kind))
	}
	if diff := cmp.Diff([]string{"github.com github", "gitlab.com gitlab", "127.0.0.1:3000 gitea"}, kinds); diff != "" {
		t.Error(diff)
	}
}

// A repository that other entries name is used once, with what a url entry has of it.
func TestRepeatedRepositoriesOfSources(t *testing.T) {
	org := tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme"}
	topic := tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme", Topic: "go"}
	for repos, want := range map[string]string{
		"[{github: {org: acme}}, {github: {org: acme, topic: go}}]":                                       "acme/api acme/web acme/cli",
		"[{github: {org: acme}}, {url: 'git@github.com:Acme/api', ref: dev}]":                             "acme/web Acme/api:dev",
		"[{file: list.txt}, {github: {org: acme, topic: go}}]":                                            "Acme/API:next acme/cli",
		"[{url: 'https://github.com/acme/cli', ref: dev}, {github: {org: acme, topic: go}, ref: stable}]": "acme/cli:dev acme/api:stable",
	} {
		p, err := loadSources(t, repos, listOfNames(org, "acme/api", "acme/web"), listOfNames(topic, "acme/cli", "acme/api"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range p.Jobs {
			words := strings.FieldsFunc(strings.TrimSuffix(j.Repo.URL, ".git"), func(r rune) bool { return r == '/' || r == ':' })
			name := strings.Join(words[len(words)-2:], "/")
			if j.Repo.Ref != "" {
				name += ":" + j.Repo.Ref
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); text != want || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "used once") }) {
			t.Errorf("%s: got %s, want %s; notes %q", repos, text, want, p.Notes)
		}
	}
}

func TestHashesDependOnLists(t *testing.T) {
	org := tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme"}
	hashes := map[string]bool{}
	var api []string
	for _, names := range [][]string{{"acme/api"}, {"acme/api", "acme/web"}, {"acme/web", "acme/api"}} {
		p, err := loadSources(t, "[{github: {org: acme}}]", listOfNames(org, names...))
		if err != nil {
			t.Fatal(err)
		}
		hashes[p.Hash] = true
		api = append(api, p.Jobs[0].Hash)
	}
	if len(hashes) != 2 || len(slices.Compact(api)) != 1 {
		t.Error(hashes, api)
	}
}

// withoutColumns removes the columns from positions.
func withoutColumns(lines []string) []string {
	column := regexp.MustCompile(`^(m\.yaml:[0-9]+):[0-9]+:`)
	for i, line := range lines {
		lines[i] = column.ReplaceAllString(line, "$1:")
	}
	return lines
}

func TestSourceProblems(t *testing.T) {
	org := tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme"}
	empty := listOfNames(org)
	empty.LeftOut = tasks.LeftOut{Archived: 2, Forks: 1, Excluded: 3}
	for name, tt := range map[string]struct {
		repos string
		lists []tasks.Listed
		want  []string
	}{
		"without an owner":     {"[{github: {}}, {gitlab: {}}, {gitea: {org: a}}]", nil, []string{`m.yaml:4: missing key "org" in "github"; add org: NAME`, `m.yaml:4: missing key "group" in "gitlab"; add group: NAME`, `m.yaml:4: missing key "host" in "gitea"; add host: git.example.com`}},
		"key of another":       {"[{gitlab: {org: a}}]", nil, []string{`m.yaml:4: missing key "group" in "gitlab"; add group: NAME`, `m.yaml:4: unknown key "org"; known here: archived, exclude, forks, group, host, include, language, search, topic`}},
		"names":                {"[{github: {org: a/b}}, {github: {org: -a}}, {gitlab: {group: a/../b}}, {gitlab: {group: /a}}]", nil, []string{`m.yaml:4: invalid name "a/b"; write the name as it is in the URLs of its repositories`, `m.yaml:4: invalid name "-a"; write the name as it is in the URLs of its repositories`, `m.yaml:4: invalid name "a/../b"; write the name as it is in the URLs of its repositories`, `m.yaml:4: invalid name "/a"; write the name as it is in the URLs of its repositories`}},
		"host":                 {"[{github: {host: 'https://x', org: a}}]", nil, []string{`m.yaml:4: invalid host "https://x"; write HOST or HOST:PORT, such as git.example.com`}},
		"host of another kind": {"[{github: {host: gitlab.com, org: a}}]", nil, []string{`m.yaml:4: gitlab.com is not a server of github; write gitlab instead of github, or another host`}},
		"two kinds":            {"[{github: {host: h, org: a}}, {gitea: {host: h, org: a}}]", nil, []string{`m.yaml:4: the kind of h is github, and not gitea; correct one of them; it is also stated at m.yaml:4`}},
		"other kind in forges": {"[{github: {host: h, org: a}}]\nforges: {h: {kind: gitea}}", nil, []string{`m.yaml:4: the kind of h is gitea, and not github; correct one of them; it is also stated at m.yaml:5`}},
		"beside":               {"[{github: {org: a}, include: [x]}, {github: {org: a}, path: .}]", nil, []string{`m.yaml:4: "include" is not supported beside github; write it in github: {...}`, `m.yaml:4: a repository must have exactly one of path, copy, url, file, glob, github, gitlab and gitea; write for example {path: DIR}, {url: URL}, {file: LIST}, {glob: PATTERN} or {github: {org: NAME}}`}},
		"nothing selected":     {"[{github: {org: acme}}]", []tasks.Listed{empty}, []string{`m.yaml:4: no repository of github.com/acme is selected (left out: 2 archived, 1 fork, 3 by include and exclude); compare the keys with the repositories there`}},
		"names of a forge":     {"[{github: {org: acme}}]", []tasks.Listed{listOfNames(org, "acme/a b", "acme/..", "../x/acme/y", "acme", "acme/-x\x1b")}, []string{`m.yaml:4: github.com lists a repository with the invalid name "../x/acme/y"; exclude it, or rename it there`, `m.yaml:4: github.com lists a repository with the invalid name "acme"; exclude it, or rename it there`, `m.yaml:4: github.com lists a repository with the invalid name "acme/-x\x1b"; exclude it, or rename it there`, `m.yaml:4: github.com lists a repository with the invalid name "acme/.."; exclude it, or rename it there`, `m.yaml:4: github.com lists a repository with the invalid name "acme/a b"; exclude it, or rename it there`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadSources(t, tt.repos, tt.lists...)
			if diff := cmp.Diff(tt.want, withoutColumns(lines(t, err))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Policies bound the host before anything is asked, and each repository of the list.
func TestPoliciesBoundSources(t *testing.T) {
	org := tasks.Source{Kind: tasks.GitHub, Host: "github.com", Owner: "acme"}
	files := policy.Policy{Name: "p.yaml", Rules: []policy.Rule{
		{Key: policy.Hosts, Allow: []string{"github.com"}, Source: "p.yaml:2"},
		{Key: policy.Repos, Allow: []string{"github.com/acme/api*"}, Source: "p.yaml:3"},
	}}
	for name, tt := range map[string]struct {
		repos    string
		policies policy.Set
		lists    []tasks.Listed
		want     []string
	}{
		"untrusted": {"[{github: {org: acme}}]", policy.Set{policy.ForUntrusted(nil)}, nil, []string{`m.yaml:4: the host "github.com" not allowed by hosts (--untrusted); remove it, or run the manifest without --untrusted if you trust its author`}},
		"host":      {"[{gitlab: {group: acme}}]", policy.Set{files}, nil, []string{`m.yaml:4: the host "gitlab.com" not allowed by hosts (p.yaml:2); remove it, or change the policy`}},
		"unlisted":  {"[{github: {org: acme}}]", policy.Set{files}, nil, nil},
		"allowed":   {"[{github: {org: acme}}]", policy.Set{files}, []tasks.Listed{listOfNames(org, "acme/api", "acme/api-v2")}, nil},
		"listed":    {"[{github: {org: acme}}]", policy.Set{files}, []tasks.Listed{listOfNames(org, "acme/api", "acme/web")}, []string{`m.yaml:4: the repository "https://github.com/acme/web.git" not allowed by repos (p.yaml:3); exclude it, or change the policy`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := dirWith(t, map[string]string{".git/": "", "m.yaml": oneTask + "repos: " + tt.repos + "\n"})
			opts := options(dir)
			opts.Policies, opts.Lists = tt.policies, tt.lists
			_, err := Load(t.Context(), []string{"m.yaml"}, opts)
			if diff := cmp.Diff(tt.want, withoutColumns(lines(t, err))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
