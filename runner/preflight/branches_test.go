package preflight

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

func TestInPlaceJobs(t *testing.T) {
	for _, c := range []struct {
		commit *tasks.Commit
		head   gitdir.Head
		want   bool
	}{
		{nil, gitdir.Head{}, true},
		{&tasks.Commit{Branch: "b"}, gitdir.Head{}, false},
		{&tasks.Commit{Branch: tasks.CurrentBranch}, gitdir.Head{}, true},
		{&tasks.Commit{Branch: "b"}, gitdir.Head{Unborn: true}, true},
	} {
		if got := InPlace(tasks.Job{Commit: c.commit}, c.head); got != c.want {
			t.Errorf("%+v, %+v: %t", c.commit, c.head, got)
		}
	}
	if BaseOf(tasks.Job{}) != "HEAD" || BaseOf(tasks.Job{Repo: tasks.Repo{Ref: "v1"}}) != "v1" {
		t.Error("the base is not the one of the manifest")
	}
}

func TestDirtyPathsAreThoseOfTheWorkspace(t *testing.T) {
	s := setUp(t)
	for _, name := range []string{"web/a", "website", "top"} {
		writeFile(t, filepath.Join(s.repo, name), "x\n")
	}
	repo, err := gitops.Open(s.repo, s.git)
	if err != nil {
		t.Fatal(err)
	}
	for below, want := range map[string][]string{"web": {"web/a"}, "": {"top", "web/a", "website"}, "docs": {}} {
		got, err := DirtyBelow(t.Context(), repo, below)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", below, err, diff)
		}
	}
}

func TestExistingBranch(t *testing.T) {
	s := setUp(t)
	repo, err := gitops.Open(s.repo, s.git)
	if err != nil {
		t.Fatal(err)
	}
	theirs := git(t, s.repo, "rev-parse", "HEAD")
	ours := git(t, s.repo, "commit-tree", "-m", "x\n\nMillhand-Task: 1", "HEAD^{tree}")
	for name, c := range map[string]struct {
		ifExists tasks.IfExists
		at       branchAt
		want     Start
		code     event.Code
	}{
		"none":                    {"", branchAt{}, Start{Base: "b"}, ""},
		"fail":                    {"", branchAt{tip: ours}, Start{Base: "b"}, event.CodeBranchExists},
		"replace ours":            {tasks.ReplaceIfExists, branchAt{tip: ours}, Start{Base: "b", Tip: ours}, ""},
		"replace ours, elsewhere": {tasks.ReplaceIfExists, branchAt{tip: ours, remote: true}, Start{Base: "b", Lease: ours}, ""},
		"append to ours":          {tasks.AppendIfExists, branchAt{tip: ours}, Start{Base: ours, Tip: ours}, ""},
		"replace theirs":          {tasks.ReplaceIfExists, branchAt{tip: theirs}, Start{Base: "b"}, event.CodeBranchForeign},
		"append to theirs":        {tasks.AppendIfExists, branchAt{tip: theirs}, Start{Base: "b"}, event.CodeBranchForeign},
	} {
		st := Start{Base: "b", Origin: repo}
		err := st.take(tasks.Job{Commit: &tasks.Commit{Branch: "x", IfExists: c.ifExists}}, c.at)
		var r *Refusal
		if errors.As(err, &r) != (c.code != "") || r != nil && r.Code != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
		if st.Base != c.want.Base || st.Tip != c.want.Tip || st.Lease != c.want.Lease || st.Skip != nil {
			t.Errorf("%s: %+v", name, st)
		}
	}
	st := Start{Origin: repo}
	if err := st.take(tasks.Job{Commit: &tasks.Commit{Branch: "x", IfExists: tasks.SkipIfExists}}, branchAt{tip: theirs, where: "here"}); err != nil || *st.Skip != (ending.Stop{Code: event.CodeBranchExists, Detail: "branch x already exists here"}) {
		t.Errorf("skip: %v, %+v", err, st.Skip)
	}
}
