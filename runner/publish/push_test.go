package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// stage is a repository, and the remote that it pushes to.
type stage struct {
	*gittest.Sandbox
	url string
}

// setUp creates a repository and a bare remote, both with the same commit on branch main.
func setUp(t *testing.T) *stage {
	t.Helper()
	s := &stage{Sandbox: gittest.NewSandbox(t)}
	s.Commit()
	dir := filepath.Join(t.TempDir(), "remote.git")
	s.Run("clone", "-q", "--bare", s.Root, dir)
	s.url = "file://" + dir
	return s
}

// at returns the commit of a remote's branch, "" if it does not exist.
func (s *stage) at(branch string) string {
	s.T.Helper()
	hash, _, _ := strings.Cut(s.Run("ls-remote", s.url, "refs/heads/"+branch), "\t")
	return hash
}

// ready returns a publication of a new commit to a branch of url, and its warnings.
func (s *stage) ready(url, branch string) (*Publication, *[]string) {
	s.T.Helper()
	s.Run("commit", "-q", "--allow-empty", "-m", "work")
	git, err := gitdir.Open(s.Root, gitdir.Env{Home: s.Home, GitProgram: s.Git})
	if err != nil {
		s.T.Fatal(err)
	}
	var warnings []string
	return &Publication{
		PushOptions: remote.PushOptions{Remote: remote.Repo{URL: url}, Commit: s.Run("rev-parse", "HEAD"), Branch: branch},
		From:        git, wait: time.Millisecond, Emit: func(e event.Event) {
			if e.Warning != nil {
				warnings = append(warnings, e.Warning.Message)
			}
		},
	}, &warnings
}

var errSignal = errors.New("interrupted by SIGTERM")

func TestPushCreatesOrUpdatesBranch(t *testing.T) {
	s := setUp(t)
	p, warnings := s.ready(s.url, "work")
	if err := p.push(t.Context()); err != nil || s.at("work") != p.Commit {
		t.Fatalf("%v; the branch is at %s", err, s.at("work"))
	}
	next, _ := s.ready(s.url, "work")
	next.Expect = p.Commit
	if err := next.push(t.Context()); err != nil || s.at("work") != next.Commit {
		t.Errorf("%v; the branch is at %s", err, s.at("work"))
	}
	if len(*warnings) != 0 {
		t.Errorf("warnings %q", *warnings)
	}
}

func TestPushFailsFastIfBranchMoved(t *testing.T) {
	s := setUp(t)
	p, warnings := s.ready(s.url, "main")
	before := s.at("main")
	p.Expect = p.Commit // where it has never been
	if err := p.push(t.Context()); !errors.Is(err, remote.ErrLease) || s.at("main") != before || len(*warnings) != 0 {
		t.Errorf("%v; warnings %q", err, *warnings)
	}
}

func TestRejectedPushIsNotRetried(t *testing.T) {
	s := setUp(t)
	hook := filepath.Join(strings.TrimPrefix(s.url, "file://"), "hooks", "pre-receive")
	if err := errors.Join(os.Mkdir(filepath.Dir(hook), 0o755), os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	p, warnings := s.ready(s.url, "work")
	if err := p.push(t.Context()); !errors.Is(err, remote.ErrRejected) || len(*warnings) != 0 {
		t.Errorf("%v; warnings %q", err, *warnings)
	}
}

func TestInterruptedPushIsRetried(t *testing.T) {
	s := setUp(t)
	p, warnings := s.ready("file://"+filepath.Join(t.TempDir(), "nowhere"), "work")
	if err := p.push(t.Context()); err == nil || len(*warnings) != pushTries-1 || !strings.Contains((*warnings)[0], "push branch work to ") {
		t.Errorf("%v; warnings %q", err, *warnings)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p.wait = time.Hour
	p.Emit = func(event.Event) { cancel(errSignal) }
	if err := p.push(ctx); !errors.Is(err, errSignal) {
		t.Errorf("a signal during the wait: %v", err)
	}
	*warnings = nil
	if err := p.push(ctx); err == nil || len(*warnings) != 0 {
		t.Errorf("after a signal: %v; warnings %q", err, *warnings)
	}
}

func TestPushWithLostResponseSucceeded(t *testing.T) {
	s := setUp(t)
	away := strings.TrimPrefix(s.url, "file://")
	p, _ := s.ready(s.url, "work")
	if err := os.Rename(away, away+".away"); err != nil {
		t.Fatal(err)
	}
	s.Run("push", "-q", "file://"+away+".away", p.Commit+":refs/heads/work")
	tries := 0
	p.Emit = func(event.Event) {
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
	p, warnings := s.ready(s.url, "work")
	if p.checkAfterPush(t.Context()) || len(*warnings) != 1 || !strings.Contains((*warnings)[0], "may still succeed") {
		t.Errorf("before: warnings %q", *warnings)
	}
	s.Run("push", "-q", s.url, p.Commit+":refs/heads/work")
	if !p.checkAfterPush(t.Context()) || len(*warnings) != 1 {
		t.Errorf("after: warnings %q", *warnings)
	}
}

func TestCheckedOutRemoteBranchMustBeTheBase(t *testing.T) {
	s := setUp(t)
	base := s.at("main")
	p, _ := s.ready(s.url, "main")
	lease := func(base string) (string, error) {
		p.Base = base
		return p.leaseOnBase(t.Context())
	}
	if tip, err := lease(base); tip != base || err != nil {
		t.Errorf("where it was: %q, %v", tip, err)
	}
	if tip, err := lease(p.Commit); tip != "" || !errors.Is(err, remote.ErrLease) {
		t.Errorf("elsewhere: %q, %v", tip, err)
	}
	p.Branch = "new"
	if tip, err := lease(base); tip != "" || err != nil {
		t.Errorf("a new branch: %q, %v", tip, err)
	}
	p.Remote.URL += "x"
	if _, err := lease(base); err == nil {
		t.Error("no remote at all")
	}
}
