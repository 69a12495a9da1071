package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// past returns what the events of the stage's run record, as a process that continues it reads them.
func (s *stage) past() *history.Past {
	s.t.Helper()
	past := &history.Past{}
	for _, e := range s.events {
		if err := past.Emit(e); err != nil {
			s.t.Fatal(err)
		}
	}
	return past
}

// reverts gives a job of the stage's run the state before its agent, and returns the result and the events.
func (s *stage) reverts(plan *tasks.Plan, to history.Revert) (Reverted, error) {
	s.t.Helper()
	var err error
	if s.opts.History, err = history.Decide(s.past(), history.Order{Do: to, Job: "a"}); err != nil {
		s.t.Fatal(err)
	}
	s.events = nil
	s.checks(plan)
	if s.checked != nil {
		s.checked()
	}
	return Revert(s.t.Context(), plan, s.opts)
}

// A job that has committed gets a commit with the state before its agent. Its patch and the end of its run stay.
func TestRevertOfABranch(t *testing.T) {
	s := setUp(t)
	git(t, s.repo, "config", "http.https://example.com/.extraheader", "AUTHORIZATION: basic eDprZXktb2YtdGhlLWNoZWNrb3V0")
	settings := func() string {
		text, err := os.ReadFile(filepath.Join(s.repo, ".git", "config"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	configured := settings()
	s.opts.Equipment.OpenModel = plays(t, writes)
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK || settings() != configured {
		t.Fatalf("exit %d: %v; the settings are now\n%s", exit, s.ends(), settings())
	}
	before := git(t, s.repo, "rev-parse", "millhand/a")
	done, err := s.reverts(plan, history.Revert{})
	if settings() != configured {
		t.Errorf("the credentials of the checkout are lost:\n%s", settings())
	}
	if err != nil {
		t.Fatal(err)
	}
	after := git(t, s.repo, "rev-parse", "millhand/a")
	want := Reverted{Job: "a", Files: []string{"a"}, Branch: "millhand/a", Commit: after, Previous: before}
	if diff := cmp.Diff(want, done); diff != "" || after == before || git(t, s.repo, "diff", "main", "millhand/a") != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if subject := git(t, s.repo, "log", "-1", "--format=%s", "millhand/a"); subject != "a: revert to turn 0" {
		t.Errorf("the commit is %q", subject)
	}
	if _, err := os.Stat(filepath.Join(s.opts.Dir.Path(), "patches", "a.patch")); err == nil {
		t.Error("the patch of a job without changes is left")
	}
	var kinds []event.Type
	for _, e := range s.events {
		kinds = append(kinds, e.Type)
	}
	if first, last := kinds[0], kinds[len(kinds)-1]; first != event.RunStarted || last != event.RunEnded {
		t.Errorf("events %v", kinds)
	}
	if r := s.of(event.Reverted); len(r) != 1 || r[0].Revert.Commit != after || r[0].Session != "r1/a" || len(s.of(event.RevertStarted)) != 1 {
		t.Errorf("reverted %+v", r)
	}
}

// A branch that is checked out, in a clean tree, is reverted there, so that the tree and the branch agree.
func TestRevertOfABranchThatIsCheckedOut(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	git(t, s.repo, "checkout", "-q", "millhand/a")
	before := git(t, s.repo, "rev-parse", "HEAD")
	done, err := s.reverts(plan, history.Revert{})
	if err != nil {
		t.Fatal(err)
	}
	if git(t, s.repo, "rev-parse", "HEAD^") != before || done.Commit != git(t, s.repo, "rev-parse", "HEAD") || git(t, s.repo, "status", "--porcelain") != "" || git(t, s.repo, "diff", "main") != "" {
		t.Errorf("%+v, status %q", done, git(t, s.repo, "status", "--porcelain"))
	}
}

// In the own tree the files themselves get the state, and copies of what is replaced are reported.
func TestRevertOfTheOwnTree(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, "a"), "one\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "file")
	s.opts.Equipment.OpenModel = plays(t, "  - {calls: [{tool: edit, args: {filePath: a, oldString: one, newString: two}}]}\n  - {text: ok}\n")
	spec := s.job("a")
	spec.Commit = nil
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	head := git(t, s.repo, "rev-parse", "HEAD")
	done, err := s.reverts(plan, history.Revert{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Reverted{Job: "a", Files: []string{"a"}, Replaced: "replaced/a"}, done); diff != "" || git(t, s.repo, "status", "--porcelain") != "" || git(t, s.repo, "rev-parse", "HEAD") != head {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(s.opts.Dir.Path(), "replaced", "a", "a")); string(text) != "two\n" {
		t.Errorf("the copy is %q, %v", text, err)
	}
}

// A state that is lost changes nothing.
func TestRevertToALostState(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	before, past := git(t, s.repo, "rev-parse", "millhand/a"), s.past()
	_, err := s.reverts(plan, history.Revert{Turn: 1, Tree: "0123456789012345678901234567890123456789"})
	if err == nil || err.Error() != "the files of turn 1 can't be restored: objects of their saved state are missing" || git(t, s.repo, "rev-parse", "millhand/a") != before {
		t.Errorf("%v", err)
	}
	if len(s.of(event.Reverted)) > 0 || len(s.of(event.RunEnded)) != 1 {
		t.Error("it is reported as reverted")
	}
	s.opts.History, err = history.Decide(past, history.Order{Do: history.FollowUp{Prompt: "More."}, Job: "a"})
	if err == nil {
		_, err = Revert(t.Context(), plan, s.opts)
	}
	if err == nil || err.Error() != "job a is not reverted" {
		t.Errorf("another order: %v", err)
	}
	if _, err := Revert(t.Context(), &tasks.Plan{}, s.opts); err == nil || err.Error() != "job a is not in the plan" {
		t.Errorf("another plan: %v", err)
	}
}

// leaks is a session whose first turn writes a secret, which its second turn removes.
const leaks = "  - {calls: [{tool: write, args: {filePath: a, content: " + token + "}}]}\n" +
	"  - {calls: [{tool: write, args: {filePath: a, content: clean}}]}\n  - {text: ok}\n"

// A state that can't be committed changes neither the branch nor, where it is checked out, the tree.
func TestRevertToAStateThatCantBeCommitted(t *testing.T) {
	for name, checkedOut := range map[string]bool{"a branch": false, "a branch that is checked out": true} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Redact = redact.New(nil)
			s.opts.Equipment.OpenModel = plays(t, leaks)
			plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}
			if exit := s.run(t.Context(), plan); exit != event.ExitOK {
				t.Fatalf("exit %d: %v", exit, s.ends())
			}
			if checkedOut {
				git(t, s.repo, "checkout", "-q", "millhand/a")
			}
			before, first := git(t, s.repo, "rev-parse", "millhand/a"), s.events
			run, err := savedsession.RevertTo(s.past(), s.opts.Dir.Path(), "a", 1)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.reverts(plan, run.Job("a").Intent.(history.Revert))
			if err == nil || !strings.HasPrefix(err.Error(), "the files of turn 1 can't be committed: the changes contain secrets") {
				t.Errorf("%v", err)
			}
			if git(t, s.repo, "rev-parse", "millhand/a") != before || git(t, s.repo, "status", "--porcelain") != "" || git(t, s.repo, "show", "millhand/a:a") != "clean" || len(s.of(event.Reverted)) > 0 {
				t.Errorf("status %q, events %v", git(t, s.repo, "status", "--porcelain"), s.events)
			}
			if list := git(t, s.repo, "worktree", "list"); strings.Contains(list, "\n") {
				t.Errorf("worktrees left: %s", list)
			}
			// The state after its last turn is that of the branch: nothing is added.
			s.events = first
			if run, err = savedsession.RevertTo(s.past(), s.opts.Dir.Path(), "a", 3); err != nil {
				t.Fatal(err)
			}
			done, err := s.reverts(plan, run.Job("a").Intent.(history.Revert))
			if diff := cmp.Diff(Reverted{Job: "a", Turn: 3, Files: []string{}, Branch: "millhand/a", Previous: before}, done); err != nil || diff != "" || git(t, s.repo, "rev-parse", "millhand/a") != before {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Work in progress stays that: a commit that reverts some of it has the limit that the job exceeded.
func TestRevertOfWorkInProgress(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, leaks)
	spec := s.job("a")
	spec.Commit.WIP, spec.Limits.Turns = true, 2
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}
	if exit := s.run(t.Context(), plan); exit != event.ExitLimit {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	done, err := s.reverts(plan, history.Revert{})
	message := git(t, s.repo, "log", "-1", "--format=%B", "millhand/a")
	if err != nil || done.Commit == "" || !strings.HasPrefix(message, "wip: a: revert to turn 0") || !strings.Contains(message, "\nMillhand-Outcome: limit") {
		t.Errorf("%+v, %v: %s", done, err, message)
	}
}

// The repository of a copied directory is in the report directory, where its branch is reverted.
func TestRevertOfACopy(t *testing.T) {
	s := setUp(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "b"), "one\n")
	s.opts.Equipment.OpenModel = plays(t, writes)
	spec := s.job("a")
	spec.Repo = tasks.Repo{Name: "copy", Kind: tasks.RepoCopy, Dir: dir}
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	repo, before := s.of(event.JobStarted)[0].JobStart.Repository, s.of(event.Committed)[0].Commit.Hash
	done, err := s.reverts(plan, history.Revert{})
	after := git(t, repo, "rev-parse", "millhand/a")
	want := Reverted{Job: "a", Files: []string{"a"}, Branch: "millhand/a", Commit: after, Previous: before}
	if diff := cmp.Diff(want, done); err != nil || diff != "" || git(t, repo, "rev-parse", "millhand/a^") != before || git(t, repo, "ls-tree", "--name-only", "millhand/a") != "b" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A revert that fails has its reason, and changes neither the branch nor the tree.
func TestRevertThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *stage) // after the preflight
		own    bool
		out    bool // the branch is checked out
		reason string
	}{
		"no worktree": {change: func(s *stage) { s.inTheWay(filepath.Join(s.opts.Work, "trees")) }, reason: "prepare the workspace"},
		"no sandbox":  {change: func(s *stage) { s.inTheWay(filepath.Join(s.opts.Work, "home")) }, own: true, reason: "create a private directory"},
		"no copies of what is replaced": {
			change: func(s *stage) { s.inTheWay(filepath.Join(s.opts.Dir.Path(), "replaced")) }, own: true, reason: "replaced",
		},
		"a base that is lost":               {change: func(s *stage) { s.loses("main^{tree}") }, out: true, reason: "object not found"},
		"a tip that is lost":                {change: func(s *stage) { s.losesPacks() }, out: true, reason: "commit in "},
		"a tip that is lost, in a worktree": {change: func(s *stage) { s.losesPacks() }, reason: "read commit "},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			writeFile(t, filepath.Join(s.repo, "b"), "one\n")
			git(t, s.repo, "add", "-A")
			git(t, s.repo, "commit", "-q", "-m", "file")
			s.opts.Equipment.OpenModel = plays(t, writes)
			spec := s.job("a")
			if c.own {
				spec.Commit = nil
			}
			plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}
			if exit := s.run(t.Context(), plan); exit != event.ExitOK {
				t.Fatalf("exit %d: %v", exit, s.ends())
			}
			if c.out {
				git(t, s.repo, "checkout", "-q", "millhand/a")
			}
			before := s.present()
			s.checked = func() { c.change(s) }
			done, err := s.reverts(plan, history.Revert{})
			if err == nil || !strings.Contains(err.Error(), c.reason) || done.Commit != "" || len(s.of(event.Reverted)) > 0 {
				t.Errorf("%+v, %v", done, err)
			}
			if diff := cmp.Diff(before, s.present()); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

// present returns the stage's files, and where the branch of its job is, also of a repository that has lost objects.
func (s *stage) present() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"a", "b", ".git/HEAD", ".git/refs/heads/millhand/a"} {
		text, _ := os.ReadFile(filepath.Join(s.repo, name))
		all[name] = string(text)
	}
	return all
}

// inTheWay puts a file where a directory is needed.
func (s *stage) inTheWay(name string) {
	s.t.Helper()
	if err := os.RemoveAll(name); err != nil {
		s.t.Fatal(err)
	}
	writeFile(s.t, name, "in the way")
}

// losesPacks removes the objects of commits that the stage's runs have made.
func (s *stage) losesPacks() {
	s.t.Helper()
	s.inTheWay(filepath.Join(s.repo, ".git", "objects", "pack"))
}

// loses removes an object of the stage's repository.
func (s *stage) loses(rev string) {
	s.t.Helper()
	hash := git(s.t, s.repo, "rev-parse", rev)
	if err := os.Remove(filepath.Join(s.repo, ".git", "objects", hash[:2], hash[2:])); err != nil {
		s.t.Fatal(err)
	}
}
