package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// at returns the commit of a remote's branch, "" if it does not exist.
func at(t *testing.T, url, branch string) string {
	t.Helper()
	hash, _, _ := strings.Cut(git(t, t.TempDir(), "ls-remote", url, "refs/heads/"+branch), "\t")
	return hash
}

func TestWorkOfAnEarlierRunIsPushedAlone(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	s.opts.Equipment.OpenModel = plays(t, writes)
	spec := s.job("a")
	if exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{spec}}); exit != event.ExitOK {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	s.opts.Equipment.OpenModel, s.events, spec.Publish = nil, nil, tasks.PublishPush
	anew := spec
	anew.Commit = &tasks.Commit{Branch: spec.Commit.Branch, IfExists: tasks.ReplaceIfExists}
	if ready, refused := s.look(preflight.Options{}, &tasks.Plan{}, anew); len(refused) != 0 || ready.Earlier("a").Hash != "" {
		t.Errorf("work that is to be replaced is pushed: %v", refused)
	}
	ready, _ := s.look(preflight.Options{}, &tasks.Plan{}, spec)
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
	if got := s.reason("a"); !strings.Contains(got, "of an earlier run was pushed") || ready.Earlier("a").Hash != hash {
		t.Errorf("the reason is %q", got)
	}
}

// slowly makes pushes of a job's branch to url wait until the returned function is called.
// A push that is still waiting at the end of the test is rejected.
func (s *stage) slowly(url, job, end string) (resume func()) {
	s.t.Helper()
	dir, sign := strings.TrimPrefix(url, "file://"), filepath.Join(s.t.TempDir(), "go")
	hook := "#!/bin/sh\nread old new ref\n[ $ref = refs/heads/millhand/" + job + " ] || exit 0\n" +
		"for i in $(seq 600); do [ -e " + sign + " ] && exit " + end + "; sleep 0.1; done; exit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "hooks", "pre-receive"), []byte(hook), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(sign, nil, 0o600); err != nil {
			s.t.Error(err)
		}
	}
}

// pushing returns jobs whose branches are pushed.
func (s *stage) pushing(ids ...string) (jobs []tasks.Job) {
	for _, id := range ids {
		j := s.job(id)
		j.Publish = tasks.PublishPush
		jobs = append(jobs, j)
	}
	return jobs
}

// when calls do for the events that fit.
func (s *stage) when(fits func(event.Event) bool, do func()) {
	emit := s.opts.Emit
	s.opts.Emit = func(e event.Event) {
		emit(e)
		if fits(e) {
			do()
		}
	}
}

func TestPublishingHoldsNoSlot(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	s.opts.Equipment.OpenModel = plays(t, writes)
	worktrees := -1
	resume := s.slowly(url, "a", "0")
	s.when(func(e event.Event) bool { return e.Type == event.TurnEnded && strings.HasSuffix(e.Session, "b") }, func() {
		if worktrees >= 0 {
			return
		}
		worktrees = len(strings.Split(git(t, s.repo, "worktree", "list"), "\n")) - 1
		resume()
	})
	jobs := append(s.pushing("a", "b"), s.job("c", "a"))
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: jobs})
	if exit != event.ExitOK || at(t, url, "millhand/a") == "" || at(t, url, "millhand/b") == "" {
		t.Errorf("exit %d: %v", exit, s.ends())
	}
	if worktrees != 1 {
		t.Errorf("%d worktrees when job b works, of which job a requires none", worktrees)
	}
	var order []string
	for _, e := range s.events {
		if e.Type == event.JobEnded || e.Type == event.JobStarted {
			order = append(order, e.Job+" "+string(e.Type))
		}
	}
	list := strings.Join(order, ", ")
	if !strings.HasPrefix(list, "a job.started, b job.started, ") || strings.Index(list, "c job.started") < strings.Index(list, "a job.ended") {
		t.Errorf("order: %s", list)
	}
}

func TestAllowedFailuresWaitForPublishing(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	s.opts.Equipment.OpenModel, s.opts.Stops.MaxFailures = plays(t, writes), 1
	resume := s.slowly(url, "a", "1")
	s.when(func(e event.Event) bool { return e.Type == event.PublishStarted }, resume)
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: s.pushing("a", "b")})
	want := map[string]string{"a": "publish 7", "b": "skipped 0"}
	if diff := cmp.Diff(want, s.ends()); exit != event.ExitPublish || diff != "" {
		t.Errorf("exit %d (-want +got):\n%s", exit, diff)
	}
}

func TestInterruptedQueueKeepsCommits(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	s.opts.Equipment.OpenModel = plays(t, writes)
	ids := []string{"a", "b", "c", "d", "e", "f"}
	hook := filepath.Join(strings.TrimPrefix(url, "file://"), "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nsleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx := s.signalAt(func(event.Event) bool { return len(s.of(event.Committed)) == len(ids) })
	exit := s.run(ctx, &tasks.Plan{Parallel: 1, Jobs: s.pushing(ids...)})
	begun := len(s.of(event.PublishStarted))
	if exit != event.ExitTerminate || begun > publish.MaxParallel || begun == 0 {
		t.Errorf("exit %d, %d pushes", exit, begun)
	}
	for id, end := range s.ends() {
		if end != "cancelled 143" || git(t, s.repo, "rev-parse", "millhand/"+id) == "" {
			t.Errorf("job %s: %s", id, end)
		}
	}
}

// look runs a preflight of jobs and returns its refusals by job.
func (s *stage) look(look preflight.Options, plan *tasks.Plan, jobs ...tasks.Job) (*preflight.Result, map[string]event.Code) {
	s.t.Helper()
	plan.Jobs = jobs
	look.Git = s.opts.Git
	if look.Mirrors == "" {
		look.Mirrors = filepath.Join(s.opts.Work, "mirrors")
	}
	ready, err := preflight.Check(s.t.Context(), plan, look)
	codes := map[string]event.Code{}
	for _, r := range preflight.Refusals(err) {
		codes[r.Job] = r.Code
	}
	return ready, codes
}
