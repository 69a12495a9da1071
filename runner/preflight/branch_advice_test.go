package preflight

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/tasks"
)

// Only a branch that millhand made is advised to be deleted, and never one that is checked out.
func TestAdviceAboutExistingBranches(t *testing.T) {
	s := setUp(t)
	git(t, s.repo, "branch", "release")
	git(t, s.repo, "branch", "millhand/own")
	tree := git(t, s.repo, "commit-tree", "-m", "x\n\n"+trailers.Task.Of("0"), "HEAD^{tree}")
	git(t, s.repo, "branch", "millhand/made", tree)
	git(t, s.repo, "branch", "made", tree)
	for branch, want := range map[string]string{
		"main":          "choose another commit.branch, or @current to commit on this one, which is checked out",
		"release":       "choose another commit.branch, or set commit.if_exists",
		"millhand/own":  "choose another commit.branch, or set commit.if_exists",
		"made":          "choose another commit.branch, or set commit.if_exists",
		"millhand/made": "delete it (git -C " + inShell(s.repo) + " branch -D millhand/made), choose another commit.branch, or set commit.if_exists",
	} {
		j := s.job("a")
		j.Commit.Branch = branch
		_, err := Check(t.Context(), &tasks.Plan{Jobs: []tasks.Job{j}}, Options{Git: s.git})
		if err == nil || !strings.Contains(err.Error(), "branch "+branch+" already exists in "+s.repo+": "+want+" (") && !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %s", branch, err, want)
		}
	}
}

func TestWordsOfAShell(t *testing.T) {
	for word, want := range map[string]string{"/a/b-c_d.e": "/a/b-c_d.e", "it's $x": `'it'\''s $x'`, "a;b": "'a;b'"} {
		if got := inShell(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
