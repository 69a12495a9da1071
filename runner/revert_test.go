package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/history"
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
	return Revert(s.t.Context(), plan, s.opts)
}

// A job that has committed gets a commit with the state before its agent. Its patch and the end of its run stay.
func TestRevertOfABranch(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a")}}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %v", exit, s.ends())
	}
	before := git(t, s.repo, "rev-parse", "millhand/a")
	done, err := s.reverts(plan, history.Revert{})
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
