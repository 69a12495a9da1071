package landing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// protects returns a job with protected paths.
func protects(j tasks.Job, globs ...string) tasks.Job {
	for _, g := range globs {
		j.Protect = append(j.Protect, permission.Protect(g, "m.yaml:7"))
	}
	j.Profile = j.Profile.Narrowed("commit.protect", j.Protect)
	return j
}

func TestProtectedPathsAreThoseOfTheRootAndTheWorkspace(t *testing.T) {
	build, _ := permission.Preset("build")
	spec := protects(tasks.Job{Profile: build}, "*.lock", "x/**", "a*b/c/*.mod")
	e := EditsOf(spec, "/tree[1]", "a*b/c")
	changed := []string{"a*b/c/go.lock", "a*b/c/d/go.lock", "a*b/c/x/y", "a*b/c/main.go", "a*b/c/go.mod", "a*b/c/.github/x"}
	var got []string
	for _, d := range e.Barred(changed) {
		got = append(got, d.Request.Subject())
	}
	if diff := cmp.Diff([]string{"go.lock", "x/y", "go.mod", ".github/x"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(spec.Protect) != 3 || strings.Contains(spec.Protect[0].Pattern, "tree") {
		t.Error("the plan's rules have changed")
	}
	if all := (Edits{Root: "/t"}).Barred(changed); all != nil {
		t.Errorf("without a rule: %v", all)
	}
}

// A directory that git uses as a repository when it is run there, whatever its name is, is like one named .git.
func TestRepositoriesWithoutTheNameAreProtected(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/config", "bare/a/config", "w/common/HEAD", "w/common/commondir", "fold/head", "fold/Objects/x", "fold/REFS/x",
		"no/HEAD", "no/objects/x", "no/config", "HEAD", "objects/x", "refs/x", "sym/HEAD", "sym/config",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755), os.WriteFile(filepath.Join(root, file), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if err := os.Symlink("../bare/"+name, filepath.Join(root, "sym", name)); err != nil {
			t.Fatal(err)
		}
	}
	build, _ := permission.Preset("build")
	changed := []string{
		"bare/config", "bare/refs/x", "bare/hooks/post-checkout", "bare/Info/attributes", "bare/README", "bare/a/config", "w/common/HEAD", "w/common/config",
		"fold/CONFIG", "no/HEAD", "no/config", "config", "HEAD", "refs/x", "sym/objects", "sym/config",
	}
	want := []string{
		"bare/config", "bare/refs/x", "bare/hooks/post-checkout", "bare/Info/attributes", "w/common/HEAD", "w/common/config", "fold/CONFIG", "sym/objects", "sym/config",
	}
	judge := func(p permission.Profile, below string) (got []string) {
		for _, d := range (Edits{Profile: p, Root: root, Below: below}).Barred(changed) {
			if !strings.Contains(d.By(), "**/.git/HEAD") || !strings.Contains(d.By(), "git uses ") {
				t.Errorf("%s: %s", d.Request.Subject(), d.By())
			}
			got = append(got, d.Request.Subject())
		}
		return got
	}
	if diff := cmp.Diff(want, judge(build, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	allowed := build.Clone()
	allowed.Rules = append(allowed.Rules, permission.Rule{Permission: "edit", Pattern: "bare/**", Effect: permission.Allow}, permission.Rule{Permission: "edit", Pattern: "w/common/.git/HEAD", Effect: permission.Allow})
	if diff := cmp.Diff(want[6:], judge(allowed, "")); diff != "" {
		t.Errorf("with rules (-want +got):\n%s", diff)
	}
}

func TestLockedPathsAreDirectoriesWherePossible(t *testing.T) {
	build, _ := permission.Preset("build")
	files := []string{".github/CODEOWNERS", ".github/workflows/ci.yml", "AGENTS.md", "docs/AGENTS.md", "docs/x", "main.go", "web/.github/x", "web/AGENTS.md"}
	for below, want := range map[string][]string{
		"":    {"/t/.github", "/t/AGENTS.md", "/t/docs/AGENTS.md", "/t/web/AGENTS.md"},
		"web": {"/t/web/.github", "/t/web/AGENTS.md"},
	} {
		if diff := cmp.Diff(want, Edits{Profile: build, Root: "/t", Below: below}.Locked(within(files, below))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", below, diff)
		}
	}
	var many []string
	for range mostLocked {
		many = append(many, "d/"+strings.Repeat("x", len(many))+"/AGENTS.md")
	}
	if got := (Edits{Profile: build, Root: "/t", Below: ""}).Locked(append(many, "AGENTS.md")); len(got) != mostLocked || got[0] != "/t/AGENTS.md" {
		t.Errorf("%d paths, first %s", len(got), got[0])
	}
}

// within returns the paths in a directory.
func within(files []string, dir string) []string {
	var list []string
	for _, f := range files {
		if state.IsBelow(f, dir) {
			list = append(list, f)
		}
	}
	return list
}
