package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// remote creates a bare repository with the stage's branch main and adds it as the
// origin of the stage's repository.
func (s *stage) remote() (url string) {
	s.t.Helper()
	dir := s.t.TempDir()
	git(s.t, dir, "init", "-q", "--bare", "-b", "main")
	git(s.t, s.repo, "remote", "add", "origin", "file://"+dir)
	git(s.t, s.repo, "push", "-q", "origin", "main")
	return "file://" + dir
}

// ready creates a pusher of a new commit in the stage's repository to a branch of url.
func (s *stage) ready(url, branch string) (*pusher, *[]string) {
	s.t.Helper()
	git(s.t, s.repo, "commit", "-q", "--allow-empty", "-m", "work")
	repo, err := gitops.Open(s.repo, s.opts.Git)
	if err != nil {
		s.t.Fatal(err)
	}
	var warnings []string
	return &pusher{
		PushOptions: remote.PushOptions{Remote: remote.Repo{URL: url}, Commit: git(s.t, s.repo, "rev-parse", "HEAD"), Branch: branch},
		from:        repo, warn: func(text string) { warnings = append(warnings, text) }, wait: time.Millisecond,
	}, &warnings
}

// at returns the commit of a remote's branch, "" if it does not exist.
func at(t *testing.T, url, branch string) string {
	t.Helper()
	hash, _, _ := strings.Cut(git(t, t.TempDir(), "ls-remote", url, "refs/heads/"+branch), "\t")
	return hash
}

func TestPushCreatesOrUpdatesBranch(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	p, warnings := s.ready(url, "work")
	if err := p.push(t.Context()); err != nil || at(t, url, "work") != p.Commit {
		t.Fatalf("%v; the branch is at %s", err, at(t, url, "work"))
	}
	next, _ := s.ready(url, "work")
	next.Expect = p.Commit
	if err := next.push(t.Context()); err != nil || at(t, url, "work") != next.Commit {
		t.Errorf("%v; the branch is at %s", err, at(t, url, "work"))
	}
	if len(*warnings) != 0 {
		t.Errorf("warnings %q", *warnings)
	}
}

func TestPushFailsFastIfBranchMoved(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	p, warnings := s.ready(url, "main")
	before := at(t, url, "main")
	p.Expect = p.Commit // where it has never been
	if err := p.push(t.Context()); !errors.Is(err, remote.ErrLease) || at(t, url, "main") != before || len(*warnings) != 0 {
		t.Errorf("%v; warnings %q", err, *warnings)
	}
}

func TestRejectedPushIsNotRetried(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	hook := filepath.Join(strings.TrimPrefix(url, "file://"), "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, warnings := s.ready(url, "work")
	if err := p.push(t.Context()); !errors.Is(err, remote.ErrRejected) || len(*warnings) != 0 {
		t.Errorf("%v; warnings %q", err, *warnings)
	}
}

func TestInterruptedPushIsRetried(t *testing.T) {
	s := setUp(t)
	p, warnings := s.ready("file://"+filepath.Join(t.TempDir(), "nowhere"), "work")
	if err := p.push(t.Context()); err == nil || len(*warnings) != pushTries-1 || !strings.Contains((*warnings)[0], "push branch work: ") {
		t.Errorf("%v; warnings %q", err, *warnings)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p.wait = time.Hour
	p.warn = func(string) { cancel(Interrupt{"SIGTERM", event.ExitTerminate}) }
	if err := p.push(ctx); !errors.Is(err, Interrupt{"SIGTERM", event.ExitTerminate}) {
		t.Errorf("a signal during the wait: %v", err)
	}
	*warnings = nil
	if err := p.push(ctx); err == nil || len(*warnings) != 0 {
		t.Errorf("after a signal: %v; warnings %q", err, *warnings)
	}
}

func TestPushWithLostResponseSucceeded(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	away := strings.TrimPrefix(url, "file://")
	p, _ := s.ready(url, "work")
	if err := os.Rename(away, away+".away"); err != nil {
		t.Fatal(err)
	}
	git(t, s.repo, "push", "-q", "file://"+away+".away", p.Commit+":refs/heads/work")
	tries := 0
	p.warn = func(string) {
		tries++
		if err := os.Rename(away+".away", away); err != nil {
			t.Error(err)
		}
	}
	if err := p.push(t.Context()); err != nil || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestTheResultOfAnInterruptedPush(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	p, warnings := s.ready(url, "work")
	if p.checkAfterPush(t.Context()) || len(*warnings) != 1 || !strings.Contains((*warnings)[0], "may still succeed") {
		t.Errorf("before: warnings %q", *warnings)
	}
	git(t, s.repo, "push", "-q", "origin", p.Commit+":refs/heads/work")
	if !p.checkAfterPush(t.Context()) || len(*warnings) != 1 {
		t.Errorf("after: warnings %q", *warnings)
	}
}

func TestInPlaceRemoteBranchMustBeTheBase(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	base := at(t, url, "main")
	p, _ := s.ready(url, "main")
	if tip, err := p.leaseInPlace(t.Context(), base); tip != base || err != nil {
		t.Errorf("where it was: %q, %v", tip, err)
	}
	if tip, err := p.leaseInPlace(t.Context(), p.Commit); tip != "" || !errors.Is(err, remote.ErrLease) {
		t.Errorf("elsewhere: %q, %v", tip, err)
	}
	p.Branch = "new"
	if tip, err := p.leaseInPlace(t.Context(), base); tip != "" || err != nil {
		t.Errorf("a new branch: %q, %v", tip, err)
	}
	p.Remote.URL += "x"
	if _, err := p.leaseInPlace(t.Context(), base); err == nil {
		t.Error("no remote at all")
	}
}

func TestPublishPushesWhatWasCommitted(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish = tasks.PublishPush
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	hash := git(t, s.repo, "commit-tree", "-p", p.base, "-m", "work", "HEAD^{tree}")
	l := &landing{job: j, site: p}
	if end := l.publish(t.Context()); end != nil || at(t, url, "millhand/a") != "" {
		t.Errorf("nothing was committed, and: %+v", end)
	}
	l.made = gitops.CommitResult{Hash: hash, Branch: "millhand/a"}
	j.spec.Publish = tasks.PublishBranch
	if end := l.publish(t.Context()); end != nil || at(t, url, "millhand/a") != "" {
		t.Errorf("nothing was to be pushed, and: %+v", end)
	}
	j.spec.Publish = tasks.PublishPush
	if end := l.publish(t.Context()); end != nil || at(t, url, "millhand/a") != hash {
		t.Fatalf("%+v; the branch is at %q", end, at(t, url, "millhand/a"))
	}
	told := s.of(event.CommitPublished)
	want := &event.Published{Remote: url, Branch: "millhand/a", Hash: hash}
	if len(told) != 1 {
		t.Fatalf("told %+v", told)
	}
	if diff := cmp.Diff(want, told[0].Published); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	l.made.Hash = git(t, s.repo, "commit-tree", "-m", "other", "HEAD^{tree}")
	end := l.publish(t.Context())
	if end == nil || end.code != event.CodeLease || !strings.Contains(end.detail, "push branch millhand/a: ") || !strings.HasSuffix(end.detail, "the changes are saved as a patch") {
		t.Errorf("a branch that is there: %+v", end)
	}
	j.start.earlier.Hash = hash
	if end = l.publish(t.Context()); end == nil || !strings.HasSuffix(end.detail, "the changes are on the branch") {
		t.Errorf("of an earlier run: %+v", end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Interrupt{"SIGTERM", event.ExitTerminate})
	if end = l.publish(ctx); end == nil || end.code != event.CodeTerminated || !strings.Contains(s.warnings(), "was in progress when the run ended") {
		t.Errorf("after a signal: %+v; warnings: %s", end, s.warnings())
	}
}

func TestPublishInPlacePushesOnTopOfTheBase(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish, spec.Commit.Branch = tasks.PublishPush, tasks.CurrentBranch
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	l := &landing{job: j, site: p, made: gitops.CommitResult{Hash: git(t, s.repo, "commit-tree", "-p", p.base, "-m", "work", "HEAD^{tree}"), Branch: "main"}}
	if end := l.publish(t.Context()); end != nil || at(t, url, "main") != l.made.Hash {
		t.Errorf("%+v; main is at %s", end, at(t, url, "main"))
	}
	if told := s.of(event.CommitPublished); len(told) != 1 || told[0].Published.Replaced != p.base {
		t.Errorf("told %+v", told)
	}
	if end := l.publish(t.Context()); end == nil || end.code != event.CodeLease {
		t.Errorf("main is not where the job began, and: %+v", end)
	}
}

func TestWorkOfAnEarlierRunIsPushedAlone(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	s.opts.OpenModel = plays(t, writes)
	spec := s.job("a")
	if exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{spec}}); exit != event.ExitOK {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	s.opts.OpenModel, s.events, spec.Publish = nil, nil, tasks.PublishPush
	anew := spec
	anew.Commit = &tasks.Commit{Branch: spec.Commit.Branch, IfExists: tasks.ReplaceIfExists}
	if ready, refused := s.look(PreflightOptions{}, &tasks.Plan{}, anew); len(refused) != 0 || ready.Earlier("a").Hash != "" {
		t.Errorf("work that is to be replaced is pushed: %v", refused)
	}
	exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{spec}})
	hash := git(t, s.repo, "rev-parse", "millhand/a")
	if exit != event.ExitOK || at(t, url, "millhand/a") != hash {
		t.Errorf("exit %d; the branch is at %s, want %s", exit, at(t, url, "millhand/a"), hash)
	}
	if phases := s.of(event.PhaseEnded); len(phases) != 1 || phases[0].Phase.Name != "publish" {
		t.Errorf("phases %+v", phases)
	}
	if made := s.of(event.Committed); len(made) != 1 || made[0].Commit.Hash != hash {
		t.Errorf("commits %+v", made)
	}
	if got := s.reason("a"); !strings.Contains(got, "of an earlier run was pushed") || s.opts.Preflight.Earlier("a").Hash != hash {
		t.Errorf("the reason is %q", got)
	}
}
