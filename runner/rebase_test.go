package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// A rebase without a model puts the job's commits on the current base of its pull request, verifies and pushes them. What
// can't be finished changes nothing on the remote.
func TestRebaseOfAPullRequest(t *testing.T) {
	for name, c := range map[string]struct {
		base   map[string]string // files of the new commit of the base; nil for none
		verify string
		signed bool
		want   Rebased
		fails  string
	}{
		"a new base":       {base: map[string]string{"b": "y\n"}, verify: "test -e b && test -e a"},
		"signed":           {base: map[string]string{"b": "y\n"}, verify: "true", signed: true},
		"by the forge":     {base: map[string]string{"b": "y\n"}, verify: "true", fails: "its commits are made by the forge (commit.sign: api)"},
		"the same base":    {verify: "true", want: Rebased{Current: true}},
		"a conflict":       {base: map[string]string{"a": "y\n"}, verify: "true", want: Rebased{Conflict: true}},
		"the same changes": {base: map[string]string{"a": "x"}, verify: "true", fails: "the base has all changes of the job"},
		"verify fails":     {base: map[string]string{"b": "y\n"}, verify: "test ! -e b || { echo it is there; false; }", want: Rebased{Failed: "it is there"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			url := s.remote()
			s.opts.Equipment.OpenModel = plays(t, writes)
			spec := s.job("a")
			spec.Publish, spec.Verify = tasks.PublishPush, []tasks.Verify{{Name: "v", Run: c.verify, Time: time.Minute}}
			s.opts.NoBaseline = true
			plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}
			if name == "a new base" {
				plan.Jobs[0].Verify[0].Run = "true"
			}
			if exit := s.run(t.Context(), plan); exit != event.ExitOK {
				t.Fatalf("exit %d: %s", exit, s.reason("a"))
			}
			plan.Jobs[0].Verify[0].Run = c.verify
			before := at(t, url, "millhand/a")
			for file, text := range c.base {
				writeFile(t, filepath.Join(s.repo, file), text)
			}
			if c.base != nil {
				git(t, s.repo, "add", "-A")
				git(t, s.repo, "commit", "-q", "-m", "new base")
				git(t, s.repo, "push", "-q", "origin", "main")
			}
			s.of(event.JobStarted)[0].JobStart.Landing.PullRequest = &event.PullRequestSpec{Base: "main"}
			if c.signed {
				plan.Jobs[0].Commit.Sign = tasks.SignSSH
			}
			var err error
			if s.opts.History, err = history.Decide(s.past(), history.Order{Do: history.Rebase{}, Job: "a"}); err != nil {
				t.Fatal(err)
			}
			s.events = nil
			s.checks(plan)
			if name == "by the forge" {
				plan.Jobs[0].Commit.Sign = tasks.SignAPI
			}
			s.opts.Preflight.Signing.Sign = func(context.Context, []byte) (string, error) {
				return "-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n", nil
			}
			done, err := Rebase(t.Context(), plan, s.opts)
			if (err != nil) != (c.fails != "") || err != nil && err.Error() != c.fails {
				t.Fatalf("%v", err)
			}
			if c.want.Failed != "" && strings.Contains(done.Failed, c.want.Failed) {
				c.want.Failed = done.Failed
			}
			after := at(t, url, "millhand/a")
			if c.want == (Rebased{}) && c.fails == "" {
				c.want.Commit = after
				if after == before || git(t, s.repo, "rev-parse", "millhand/a") != after || git(t, s.repo, "rev-parse", "millhand/a^") != git(t, s.repo, "rev-parse", "main") || git(t, s.repo, "show", "millhand/a:a") != "x" {
					t.Errorf("the branch is at %s, before at %s", after, before)
				}
				made := s.of(event.Committed)
				if len(made) != 1 || made[0].Commit.Hash != after || (made[0].Commit.Signature != "") != c.signed || len(s.of(event.JobEnded)) != 1 || len(s.of(event.RunEnded)) != 1 {
					t.Errorf("commits %+v", made)
				}
			} else if after != before {
				t.Error("the branch has changed")
			}
			if diff := cmp.Diff(c.want, done); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if list := git(t, s.repo, "worktree", "list"); strings.Contains(list, "\n") || s.warnings() != "" {
				t.Errorf("worktrees left: %s; warnings: %s", list, s.warnings())
			}
		})
	}
}

// pushed runs a job that pushes its branch, whose base then gets another file, and returns a plan that rebases the job. change is
// called after the preflight.
func (s *stage) pushed(change func(*tasks.Plan)) (*tasks.Plan, string) {
	s.t.Helper()
	t, url := s.t, s.remote()
	s.opts.Equipment.OpenModel, s.opts.NoBaseline = plays(t, writes), true
	plan := &tasks.Plan{Parallel: 1, Jobs: s.pushing("a")}
	plan.Jobs[0].Verify = []tasks.Verify{{Name: "v", Run: "test -e a", Time: time.Minute}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	writeFile(t, filepath.Join(s.repo, "b"), "y\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "new base")
	git(t, s.repo, "push", "-q", "origin", "main")
	s.of(event.JobStarted)[0].JobStart.Landing.PullRequest = &event.PullRequestSpec{Base: "main"}
	var err error
	if s.opts.History, err = history.Decide(s.past(), history.Order{Do: history.Rebase{}, Job: "a"}); err != nil {
		t.Fatal(err)
	}
	s.events = nil
	s.checks(plan)
	change(plan)
	return plan, url
}

// A rebase that can't be finished has its reason, and changes neither the branch nor the remote.
func TestRebaseThatFails(t *testing.T) {
	start := func(change func(*preflight.Start)) func(*stage, *tasks.Plan) {
		return func(s *stage, _ *tasks.Plan) {
			at := s.opts.Preflight.Starts["a"]
			change(&at)
			s.opts.Preflight.Starts["a"] = at
		}
	}
	for name, c := range map[string]struct {
		change func(s *stage, plan *tasks.Plan)
		reason string
		began  bool // it is an event that the run continues
	}{
		"another plan":         {func(_ *stage, plan *tasks.Plan) { plan.Jobs = nil }, "job a is not in the plan", false},
		"no directory":         {func(s *stage, _ *tasks.Plan) { s.opts.Work = filepath.Join(s.repo, "b", "x") }, "not a directory", false},
		"no worktree":          {func(s *stage, _ *tasks.Plan) { s.inTheWay(filepath.Join(s.opts.Work, "trees")) }, "prepare the workspace", true},
		"no sandbox":           {func(s *stage, _ *tasks.Plan) { s.inTheWay(filepath.Join(s.opts.Work, "home")) }, "create a private directory", true},
		"setup fails":          {func(_ *stage, plan *tasks.Plan) { plan.Jobs[0].Setup = []string{"exit 7"} }, "exit 7", true},
		"the push is rejected": {func(s *stage, _ *tasks.Plan) { s.rejects() }, "push branch millhand/a", true},
		"a job that can't run": {start(func(at *preflight.Start) { at.Skip = &ending.Stop{Detail: "not fetched"} }), "not fetched", false},
		"commits of others":    {start(func(at *preflight.Start) { at.Onto = preflight.Rebase{} }), "the branch of the job has another commit", false},
		"a base that is lost":  {func(s *stage, _ *tasks.Plan) { s.loses("main^{tree}") }, "check out the commit", false},
		"a program is missing": {func(_ *stage, plan *tasks.Plan) { plan.Jobs[0].Setup = []string{"no-such-program-4711"} }, "no-such-program-4711", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			plan, url := s.pushed(func(plan *tasks.Plan) { c.change(s, plan) })
			before := git(t, s.repo, "rev-parse", "millhand/a")
			done, err := Rebase(t.Context(), plan, s.opts)
			if err == nil || !strings.Contains(err.Error(), c.reason) || done != (Rebased{}) {
				t.Errorf("%+v, %v", done, err)
			}
			if git(t, s.repo, "rev-parse", "millhand/a") != before || at(t, url, "millhand/a") != before {
				t.Error("the branch has changed")
			}
			if ended := len(s.of(event.RunStarted)) + len(s.of(event.JobEnded)) + len(s.of(event.RunEnded)); ended != map[bool]int{true: 3}[c.began] {
				t.Errorf("%d events", ended)
			}
			if list := git(t, s.repo, "worktree", "list"); strings.Contains(list, "\n") {
				t.Errorf("worktrees left: %s", list)
			}
		})
	}
}

// rejects makes the stage's remote refuse pushes.
func (s *stage) rejects() {
	s.t.Helper()
	dir := strings.TrimPrefix(git(s.t, s.repo, "remote", "get-url", "origin"), "file://")
	if err := os.WriteFile(filepath.Join(dir, "hooks", "pre-receive"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// A branch that somebody else has moved in the repository is pushed, and not moved there.
func TestRebaseLeavesABranchThatMoved(t *testing.T) {
	s := setUp(t)
	plan, url := s.pushed(func(*tasks.Plan) {
		s.when(func(e event.Event) bool { return e.Type == event.CommitPublished }, func() { git(t, s.repo, "branch", "-f", "millhand/a", "main") })
	})
	done, err := Rebase(t.Context(), plan, s.opts)
	if err != nil || done.Commit == "" || at(t, url, "millhand/a") != done.Commit || git(t, s.repo, "rev-parse", "millhand/a") != git(t, s.repo, "rev-parse", "main") {
		t.Errorf("%+v, %v", done, err)
	}
	if !strings.HasPrefix(s.warnings(), "the branch was pushed, and not moved in "+s.repo+": ") {
		t.Errorf("warnings %s", s.warnings())
	}
	s.matches("rebased")
}
