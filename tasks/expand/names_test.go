package expand

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

// jobIDs returns the ids of a plan's jobs and, in the same order, their
// branches.
func jobIDs(p *tasks.Plan) (ids, branches []string) {
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
			p, err := loadText(t, head+"tasks:\n"+tt.tasks, map[string]string{"one/": "", "sub/one/": "", "two/": ""}, tasks.Overrides{})
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
	p := mustLoad(t, head+"tasks: [{id: a, prompt: p, matrix: {k: ["+long+"1, "+long+"2]}}]", tasks.Overrides{})
	ids, branches := jobIDs(p)
	if ids[0] == ids[1] || len(ids[0]) > maxSlug || branches[0] == branches[1] {
		t.Errorf("ids %q, branches %q", ids, branches)
	}
}

func TestTwoTasksCannotHaveAJobOfTheSameName(t *testing.T) {
	p := mustLoad(t, head+"tasks: [{id: a, prompt: p, matrix: {k: [x y, x-y]}}]", tasks.Overrides{})
	ids, _ := jobIDs(p)
	_, err := loadText(t, head+"tasks: [{id: a, prompt: p, matrix: {k: [x y, x-y]}}, {id: "+ids[0]+", prompt: p}]", nil, tasks.Overrides{})
	want := []string{
		fmt.Sprintf("m.yaml:3:59: two jobs have the id %s, of tasks a and %s; rename one of the tasks, or change the matrix", ids[0], ids[0]),
		fmt.Sprintf("m.yaml:3:59: the jobs %s and %s would both commit to the branch %q; give each task a branch of its own, with ${{ matrix.KEY }} in it if it has a matrix", ids[0], ids[0], tasks.BranchPrefix+ids[0]),
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
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
		if got := tasks.BranchFault(name) == ""; got != want {
			t.Errorf("%q: valid %v, git: %v", name, got, want)
		}
	}
}
