package tasks

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jobIDs returns the ids of a plan's jobs and, in the same order, their
// branches.
func jobIDs(p *Plan) (ids, branches []string) {
	for _, j := range p.Jobs {
		ids = append(ids, j.ID)
		if j.Commit != nil {
			branches = append(branches, j.Commit.Branch)
		}
	}
	return ids, branches
}

const head = "version: 1\nmodel: openai/m\n"

func TestIDsAndBranchesNameJobs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tasks    string
		ids      []string
		branches []string
	}{
		{
			"a task alone has its own id", `- {id: Fix_1.a, prompt: p}`,
			[]string{"Fix_1.a"},
			[]string{"millhand/Fix_1.a"},
		},
		{
			"values stand in the order of their keys", `- {id: a, prompt: p, matrix: {z: [1, 2], b: [x]}}`,
			[]string{"a-x-1", "a-x-2"},
			[]string{"millhand/a-x-1", "millhand/a-x-2"},
		},
		{
			"what is unsafe becomes a dash", `- {id: a, prompt: p, matrix: {k: ["x y/../z", "../", "é", v1.lock]}}`,
			[]string{"a-x-y-.-z", "a-5f8b08f1", "a-b22b1d81", "a-v1-lock"},
			[]string{"millhand/a-x-y-.-z", "millhand/a-5f8b08f1", "millhand/a-b22b1d81", "millhand/a-v1-lock"},
		},
		{
			"what would look the same ends in a digest", `- {id: a, prompt: p, matrix: {k: [x y, x-y, X-Y, z]}}`,
			[]string{"a-x-y-224c1ec4", "a-x-y-4e858c33", "a-X-Y-9c5397f4", "a-z"},
			[]string{"millhand/a-x-y-224c1ec4", "millhand/a-x-y-4e858c33", "millhand/a-X-Y-9c5397f4", "millhand/a-z"},
		},
		{
			"a task's own id stays", "- {id: a, prompt: p, matrix: {k: [b, c]}}\n- {id: a-b, prompt: p}",
			[]string{"a-b-84abffb6", "a-c", "a-b"},
			[]string{"millhand/a-b-84abffb6", "millhand/a-c", "millhand/a-b"},
		},
		{
			"repositories are named when there are several", `- {id: a, prompt: p, repos: [{path: one}, {path: sub/one}, {copy: two}], matrix: {k: [1]}}`,
			[]string{"a-one-1", "a-sub-one-1", "a-two-1"},
			[]string{"millhand/a-1", "millhand/a-1", "millhand/a-1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, head+"tasks:\n"+tt.tasks, map[string]string{"one/": "", "sub/one/": "", "two/": ""}, Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			ids, branches := jobIDs(p)
			if diff := cmp.Diff(tt.ids, ids); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.branches, branches); diff != "" {
				t.Errorf("branches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongIDIsTruncatedWithDigest(t *testing.T) {
	long := strings.Repeat("v", 300)
	p := mustLoad(t, head+"tasks: [{id: a, prompt: p, matrix: {k: ["+long+"1, "+long+"2]}}]", Overrides{})
	ids, branches := jobIDs(p)
	if ids[0] == ids[1] || len(ids[0]) > maxSlug || branches[0] == branches[1] {
		t.Errorf("ids %q, branches %q", ids, branches)
	}
}

func TestTwoTasksCannotHaveAJobOfTheSameName(t *testing.T) {
	p := mustLoad(t, head+"tasks: [{id: a, prompt: p, matrix: {k: [x y, x-y]}}]", Overrides{})
	ids, _ := jobIDs(p)
	_, err := loadText(t, head+"tasks: [{id: a, prompt: p, matrix: {k: [x y, x-y]}}, {id: "+ids[0]+", prompt: p}]", nil, Overrides{})
	want := []string{
		fmt.Sprintf("m.yaml:3:59: two jobs have the id %s, of tasks a and %s; rename one of the tasks, or change the matrix", ids[0], ids[0]),
		fmt.Sprintf("m.yaml:3:59: the jobs %s and %s would both commit to the branch %q; give each task a branch of its own, with ${{ matrix.KEY }} in it if it has a matrix", ids[0], ids[0], BranchPrefix+ids[0]),
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestRepositoriesHaveTheShortestNamesThatTellThemApart(t *testing.T) {
	at := func(kind RepoKind, written, dir string) repo { return newRepo(kind, written, dir) }
	from := func(url string) repo {
		return repo{Repo: Repo{Kind: RepoURL, URL: url}, written: url, id: "url:" + normalURL(url)}
	}
	for _, tt := range []struct {
		name  string
		repos []repo
		want  []string
	}{
		{"the last element", []repo{at(RepoPath, "../services/api/", "/w/services/api"), at(RepoPath, "./web", "/w/m/web")}, []string{"api", "web"}},
		{"more elements", []repo{at(RepoPath, "../services/api", "/w/services/api"), at(RepoPath, "../legacy/api", "/w/legacy/api")}, []string{"services/api", "legacy/api"}},
		{"the directory's own name", []repo{at(RepoPath, ".", "/w/shop"), at(RepoPath, "../..", "/w")}, []string{"shop", "w"}},
		{"no elements left", []repo{at(RepoPath, "a/api", "/w/m/a/api"), at(RepoPath, "../a/api", "/w/a/api")}, []string{"a/api-fcfee94c", "a/api-95c10e39"}},
		{"a directory and its copy", []repo{at(RepoPath, "shop", "/w/shop"), at(RepoCopy, "shop", "/w/shop")}, []string{"shop-3237f685", "shop-76b4fd9a"}},
		{"names that differ in case", []repo{at(RepoPath, "a/X", "/w/a/X"), at(RepoPath, "b/x", "/w/b/x")}, []string{"a/X", "b/x"}},
		{"urls", []repo{from("https://h.example/acme/api.git"), from("git@h.example:acme/web"), from("ssh://git@h.example:2222/acme/lib/")}, []string{"api", "web", "lib"}},
		{"urls of several hosts", []repo{from("https://one.example/acme/api"), from("git@two.example:acme/api.git"), from("https://one.example/other/api")}, []string{"one.example/acme/api", "two.example/acme/api", "other/api"}},
		{"urls of one host", []repo{from("https://h/a/api"), from("http://h/a/api")}, []string{"h/a/api-7e0bae6a", "h/a/api-d6f5bd63"}},
		{"a url and a directory", []repo{from("https://h/acme/api"), at(RepoPath, "acme/api", "/w/acme/api")}, []string{"h/acme/api", "acme/api"}},
		{"no name at all", []repo{at(RepoPath, ".", "/")}, []string{"root"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names := nameRepos(tt.repos)
			var got []string
			for _, r := range tt.repos {
				got = append(got, names[r.id])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// branchNames seed the comparison with git.
var branchNames = []string{
	"main", "a/b/c", "feature-1_2.x", "-a", "a-", "a..b", "a.", ".a", "a/.b", "a//b", "/a", "a/", "a.lock", "a.lock/b", "a.locks", "@", "a@b", "a@{b",
	"HEAD", "heads/HEAD", "a b", "a\tb", "a~1", "a^", "a:b", "a?b", "a*", "a[b", `a\b`, "é", "a\x7f", "", "{", "millhand/fix", "a\nb", "a;b", "$(a)",
}

func TestGitAgreesOnValidBranches(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git not found")
	}
	for _, name := range branchNames {
		if name == "@" { // for git check-ref-format this is the current branch
			continue
		}
		want := exec.CommandContext(t.Context(), git, "check-ref-format", "--branch", name).Run() == nil
		if got := branchFault(name) == ""; got != want {
			t.Errorf("%q: valid %v, git: %v", name, got, want)
		}
	}
}
