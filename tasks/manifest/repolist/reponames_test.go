package repolist

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

func TestRepositoriesHaveTheShortestNamesThatTellThemApart(t *testing.T) {
	at := func(kind tasks.RepoKind, written, dir string) Repo { return NewRepo(kind, written, dir) }
	from := func(url string) Repo {
		return Repo{Repo: tasks.Repo{Kind: tasks.RepoURL, URL: url}, Written: url, ID: "url:" + normalURL(url)}
	}
	for _, tt := range []struct {
		name  string
		repos []Repo
		want  []string
	}{
		{"the last element", []Repo{at(tasks.RepoPath, "../services/api/", "/w/services/api"), at(tasks.RepoPath, "./web", "/w/m/web")}, []string{"api", "web"}},
		{"more elements", []Repo{at(tasks.RepoPath, "../services/api", "/w/services/api"), at(tasks.RepoPath, "../legacy/api", "/w/legacy/api")}, []string{"services/api", "legacy/api"}},
		{"the directory's own name", []Repo{at(tasks.RepoPath, ".", "/w/shop"), at(tasks.RepoPath, "../..", "/w")}, []string{"shop", "w"}},
		{"no elements left", []Repo{at(tasks.RepoPath, "a/api", "/w/m/a/api"), at(tasks.RepoPath, "../a/api", "/w/a/api")}, []string{"a/api-fcfee94c", "a/api-95c10e39"}},
		{"a directory and its copy", []Repo{at(tasks.RepoPath, "shop", "/w/shop"), at(tasks.RepoCopy, "shop", "/w/shop")}, []string{"shop-3237f685", "shop-76b4fd9a"}},
		{"names that differ in case", []Repo{at(tasks.RepoPath, "a/X", "/w/a/X"), at(tasks.RepoPath, "b/x", "/w/b/x")}, []string{"a/X", "b/x"}},
		{"urls", []Repo{from("https://h.example/acme/api.git"), from("git@h.example:acme/web"), from("ssh://git@h.example:2222/acme/lib/")}, []string{"api", "web", "lib"}},
		{"urls of several hosts", []Repo{from("https://one.example/acme/api"), from("git@two.example:acme/api.git"), from("https://one.example/other/api")}, []string{"one.example/acme/api", "two.example/acme/api", "other/api"}},
		{"urls of one host", []Repo{from("https://h/a/api"), from("http://h/a/api")}, []string{"h/a/api-7e0bae6a", "h/a/api-d6f5bd63"}},
		{"a url and a directory", []Repo{from("https://h/acme/api"), at(tasks.RepoPath, "acme/api", "/w/acme/api")}, []string{"h/acme/api", "acme/api"}},
		{"no name at all", []Repo{at(tasks.RepoPath, ".", "/")}, []string{"root"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names := NameRepos(tt.repos)
			var got []string
			for _, r := range tt.repos {
				got = append(got, names[r.ID])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}
