package preflight

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

func TestPreflightRefusesWithACodeForEveryJob(t *testing.T) {
	s := setUp(t)
	git(t, s.repo, "branch", "millhand/taken")
	git(t, s.repo, "branch", "millhand/theirs")
	filtered := t.TempDir()
	git(t, filtered, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(filtered, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	writeFile(t, filepath.Join(filtered, "a.bin"), "version https://git-lfs.github.com/spec/v1\n")
	git(t, filtered, "add", "-A")
	git(t, filtered, "commit", "-q", "-m", "start")
	sha256 := t.TempDir()
	git(t, sha256, "init", "-q", "--object-format=sha256")
	config := t.TempDir()
	git(t, config, "init", "-q", "-b", "main")
	git(t, config, "commit", "-q", "--allow-empty", "-m", "start")
	git(t, config, "config", "extensions.future", "true")

	at := func(id, dir string) tasks.Job {
		j := s.job(id)
		j.Repo.Dir = dir
		return j
	}
	base, foreign, nowhere := s.job("base"), s.job("theirs"), s.job("push")
	base.Repo.Ref = "no-such-branch"
	foreign.ID, foreign.Commit.IfExists = "foreign", tasks.ReplaceIfExists
	nowhere.Publish = tasks.PublishPush
	protected := at("protected", filtered)
	protected.Profile = protected.Profile.Narrowed("commit.protect", []permission.Rule{permission.Protect("*.bin", "m.yaml:3")})
	plan := &tasks.Plan{Jobs: []tasks.Job{
		s.job("fine"), s.job("taken"), base, foreign, nowhere, at("lfs", filtered), protected, at("sha256", sha256), at("config", config), at("none", t.TempDir()),
	}}
	_, err := Check(t.Context(), plan, Options{Git: s.git})
	got := map[string]event.Code{}
	for _, r := range Refusals(err) {
		got[r.Job] = r.Code
	}
	want := map[string]event.Code{
		"taken": event.CodeBranchExists, "base": event.CodeBase, "foreign": event.CodeBranchForeign, "push": event.CodeRemote,
		"lfs": event.CodeFilter, "sha256": event.CodeUnsupported, "config": event.CodeUnsupported, "none": event.CodeRepository,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the refusals (-want +got):\n%s\n%v", diff, err)
	}
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(err.Error(), "job taken: branch millhand/taken already exists in ") {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
}

func TestIfUsesBaseCommit(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, "package.json"), "{}\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	old := s.job("old")
	old.Repo.Ref = git(t, s.repo, "rev-parse", "HEAD~1")
	copied := s.job("copied")
	copied.Repo.Kind = tasks.RepoCopy
	plan := &tasks.Plan{Jobs: []tasks.Job{s.job("new"), old, copied}}
	manifest := filepath.Join(t.TempDir(), "m.yaml")
	writeFile(t, manifest, "version: 1\nmodel: script:m.yaml\nrepos: [{path: '"+s.repo+"'}]\ntasks: [{id: a, prompt: b, if: \"repo.has('package.json')\"}]\n")
	condition := loadCondition(t, manifest)
	for i := range plan.Jobs {
		plan.Jobs[i].If = condition
	}
	ready, err := Check(t.Context(), plan, Options{Git: s.git})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]event.Code{}
	for _, j := range plan.Jobs {
		got[j.ID] = ready.Skip(j.ID).Code
	}
	if diff := cmp.Diff(map[string]event.Code{"new": "", "old": event.CodeCondition, "copied": ""}, got); diff != "" {
		t.Errorf("the jobs left out (-want +got):\n%s", diff)
	}
}

// loadCondition returns the condition of a manifest's only task.
func loadCondition(t *testing.T, manifest string) *tasks.Condition {
	t.Helper()
	plan, err := expand.Load(t.Context(), []string{manifest}, tasks.Options{Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Jobs[0].If == nil {
		t.Fatal("the condition does not ask for the repository")
	}
	return plan.Jobs[0].If
}
