package preflight

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

func TestInPlaceTreeMustNotBeInUse(t *testing.T) {
	s := setUp(t)
	inPlace, current, ref := s.job("in-place"), s.job("current"), s.job("ref")
	inPlace.Commit, ref.Commit = nil, nil
	current.Commit.Branch, ref.Repo.Ref = tasks.CurrentBranch, "main"
	own := s.job("own") // its worktree is its own
	all := []tasks.Job{inPlace, current, ref, own}
	check := func(when string, plan *tasks.Plan, want map[string]event.Code) *Result {
		t.Helper()
		ready, got := s.look(Options{}, plan, all...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: refusals (-want +got):\n%s", when, diff)
		}
		return ready
	}
	ready := check("clean", &tasks.Plan{}, map[string]event.Code{"ref": event.CodeBase})
	if diff := cmp.Diff([]string{s.repo}, ready.Trees(&tasks.Plan{Jobs: all})); diff != "" {
		t.Errorf("trees (-want +got):\n%s", diff)
	}
	writeFile(t, filepath.Join(s.repo, "mine"), "x\n")
	check("dirty", &tasks.Plan{}, map[string]event.Code{"ref": event.CodeBase, "in-place": event.CodeDirty, "current": event.CodeDirty})
	check("allowed", &tasks.Plan{AllowDirty: true}, map[string]event.Code{"ref": event.CodeBase})
	writeFile(t, filepath.Join(s.repo, ".git", "MERGE_HEAD"), git(t, s.repo, "rev-parse", "HEAD")+"\n")
	check("merging", &tasks.Plan{AllowDirty: true}, map[string]event.Code{"ref": event.CodeBase, "in-place": event.CodeDirty, "current": event.CodeDirty})
	if err := os.Remove(filepath.Join(s.repo, ".git", "MERGE_HEAD")); err != nil {
		t.Fatal(err)
	}
	git(t, s.repo, "checkout", "-q", "--detach")
	check("detached", &tasks.Plan{AllowDirty: true}, map[string]event.Code{"ref": event.CodeBase, "current": event.CodeBase})
}

func TestBranchBelongsToOneJob(t *testing.T) {
	s := setUp(t)
	one, two := s.job("one"), s.job("two")
	two.Commit.Branch = one.Commit.Branch
	ready, got := s.look(Options{}, &tasks.Plan{}, one, two)
	if diff := cmp.Diff(map[string]event.Code{"two": event.CodeBranchExists}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st := ready.Starts["one"]; st.Base != git(t, s.repo, "rev-parse", "HEAD") || st.Tip != "" || st.Skip != nil {
		t.Errorf("%+v", st)
	}
}

func TestUncommittedDirectoryHasNoBase(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Repo.Dir = filepath.Join(s.repo, "new")
	if err := os.Mkdir(spec.Repo.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, got := s.look(Options{}, &tasks.Plan{}, spec); got["a"] != event.CodeBase {
		t.Errorf("%v", got)
	}
}

func TestPreflightFetchesRemotes(t *testing.T) {
	s := setUp(t)
	url := "file://" + s.repo
	var told []string
	l := Options{Fetching: func(name string) { told = append(told, "fetch "+name) }, Fetched: func(name string, err error) {
		told = append(told, "fetched "+name+map[bool]string{true: ": failed"}[err != nil])
	}}
	patch, twice := s.far("patch", url), s.far("twice", url)
	patch.Publish = tasks.PublishPatch
	ready, got := s.look(l, &tasks.Plan{Clones: 2}, s.far("a", url), patch, twice)
	if len(got) != 0 {
		t.Errorf("refusals %v", got)
	}
	if st := ready.Starts["a"]; st.Base != git(t, s.repo, "rev-parse", "HEAD") || st.Remote.URL != url || st.Origin == nil || st.Skip != nil {
		t.Errorf("%+v", st)
	}
	if diff := cmp.Diff([]string{"fetch far", "fetched far"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	deep := s.far("deep", url)
	deep.Repo.Depth = 1
	if ready, got = s.look(Options{Mirrors: t.TempDir()}, &tasks.Plan{Clones: 1}, s.far("a", url), deep); len(got) != 0 || ready.Starts["deep"].Base != ready.Starts["a"].Base {
		t.Errorf("one after the other: %v, %+v", got, ready.Starts)
	}
	told = nil
	ready, got = s.look(l, &tasks.Plan{}, s.far("a", url+"x"), s.job("here"))
	if st := ready.Starts["a"]; len(got) != 0 || st.Skip == nil || st.Skip.Code != event.CodeClone || !strings.HasPrefix(st.Skip.Detail, "fetch the repository: ") {
		t.Errorf("refusals %v, %+v", got, st.Skip)
	}
	if end := ready.Skip("a"); end.Outcome != event.Error || end.ExitCode != event.ExitFailed || ready.Skip("here").Reason != "" {
		t.Errorf("%+v", end)
	}
	if diff := cmp.Diff([]string{"fetch far", "fetched far: failed"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	l.Local, told = true, nil
	if ready, got = s.look(l, &tasks.Plan{}, s.far("a", url)); len(got)+len(told) != 0 || ready.Starts["a"].Origin != nil {
		t.Errorf("it was looked at: %v, %v", got, told)
	}
}

func TestIfExistsDecidesAboutBranchesOfARemote(t *testing.T) {
	s := setUp(t)
	git(t, s.repo, "branch", "millhand/taken")
	skip, replace := s.far("skip", "file://"+s.repo), s.far("replace", "file://"+s.repo)
	skip.Commit.Branch, skip.Commit.IfExists = "millhand/taken", tasks.SkipIfExists
	ours := git(t, s.repo, "commit-tree", "-m", "x\n\nMillhand-Task: 1", "HEAD^{tree}")
	git(t, s.repo, "branch", "millhand/replace", ours)
	replace.Commit.IfExists = tasks.ReplaceIfExists
	below, base := s.far("below", "file://"+s.repo), s.far("base", "file://"+s.repo)
	below.Commit.Branch, base.Repo.Ref = "main/sub", "gone"
	ready, got := s.look(Options{}, &tasks.Plan{}, s.far("taken", "file://"+s.repo), skip, replace, below, base)
	want := map[string]event.Code{"taken": event.CodeBranchExists, "below": event.CodeBranchExists, "base": event.CodeBase}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if st := ready.Starts["replace"]; st.Lease != ours || st.Tip != "" {
		t.Errorf("%+v", st)
	}
	if end := ready.Skip("skip"); end.Outcome != event.Skipped || end.Code != event.CodeBranchExists || !strings.Contains(end.Reason, "on file://") {
		t.Errorf("%+v", end)
	}
}

func TestPushBranchOfPathRepository(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	git(t, s.repo, "push", "-q", "origin", "main:millhand/taken")
	ours := git(t, s.repo, "commit-tree", "-m", "x\n\nMillhand-Task: 1", "HEAD^{tree}")
	git(t, s.repo, "push", "-q", "origin", ours+":refs/heads/millhand/append")
	push := func(id string) tasks.Job {
		j := s.job(id)
		j.Publish = tasks.PublishPush
		return j
	}
	appends, current := push("append"), push("current")
	appends.Commit.IfExists, current.Commit.Branch = tasks.AppendIfExists, tasks.CurrentBranch
	ready, got := s.look(Options{}, &tasks.Plan{}, push("new"), push("taken"), appends, current)
	if diff := cmp.Diff(map[string]event.Code{"taken": event.CodeBranchExists}, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if st := ready.Starts["append"]; st.Base != ours || st.Lease != ours || st.Remote.URL != url {
		t.Errorf("%+v", st)
	}
	if st := ready.Starts["new"]; st.Remote.URL != url || st.Lease != "" {
		t.Errorf("%+v", st)
	}
	git(t, s.repo, "commit", "-q", "--allow-empty", "-m", "not pushed")
	if _, got := s.look(Options{}, &tasks.Plan{}, current); got["current"] != event.CodeBranchForeign {
		t.Errorf("not in step: %v", got)
	}
	if _, got := s.look(Options{Local: true}, &tasks.Plan{}, current, push("taken")); len(got) != 0 {
		t.Errorf("without a look at remotes: %v", got)
	}
	git(t, s.repo, "remote", "set-url", "origin", url+"x")
	ready, got = s.look(Options{}, &tasks.Plan{}, push("new"), current)
	if len(got) != 0 || codeOf(ready.Starts["new"].Skip) != event.CodeClone || codeOf(ready.Starts["current"].Skip) != event.CodeClone {
		t.Errorf("unreachable: %v, %+v", got, ready.Starts)
	}
}

func TestCredentialsAreSentToTheirServer(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	push, skipped, plain := s.job("push"), s.far("skipped", "file:///nowhere"), s.job("plain")
	push.Publish, skipped.Skip = tasks.PublishPush, "not today"
	var asked []string
	l := Options{Auth: func(urls []string) (func(string) remote.Auth, error) {
		asked = slices.Clone(urls)
		return func(url string) remote.Auth { return remote.Auth{User: "for " + url} }, nil
	}}
	far := s.far("far", "file://"+s.repo)
	ready, got := s.look(l, &tasks.Plan{}, push, skipped, plain, far)
	if diff := cmp.Diff([]string{url, "file://" + s.repo}, asked); diff != "" || len(got) != 0 {
		t.Errorf("%v; asked for (-want +got):\n%s", got, diff)
	}
	if user := ready.Starts["far"].Remote.Auth.User; user != "for file://"+s.repo {
		t.Errorf("the mirror gets %q", user)
	}
	if end := ready.Skip("skipped"); end.Code != event.CodeCondition || end.Reason != "not today" {
		t.Errorf("%+v", end)
	}
	refused := errors.New("several servers")
	l.Auth = func([]string) (func(string) remote.Auth, error) { return nil, refused }
	if _, err := Check(t.Context(), &tasks.Plan{Jobs: []tasks.Job{plain}}, l); !errors.Is(err, refused) || Refusals(err) != nil {
		t.Errorf("%v", err)
	}
}

func TestAPreflightEndsWithItsContext(t *testing.T) {
	s := setUp(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	_, err := Check(ctx, &tasks.Plan{Jobs: []tasks.Job{s.far("a", "file://"+s.repo)}}, Options{Git: s.git, Mirrors: t.TempDir()})
	if !errors.Is(err, event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt}) {
		t.Errorf("%v", err)
	}
}
