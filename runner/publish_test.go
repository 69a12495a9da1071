package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// at returns the commit of a remote's branch, "" if it does not exist.
func at(t *testing.T, url, branch string) string {
	t.Helper()
	hash, _, _ := strings.Cut(git(t, t.TempDir(), "ls-remote", url, "refs/heads/"+branch), "\t")
	return hash
}

func TestPublishPushesWhatWasCommitted(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish = tasks.PublishPush
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	hash := git(t, s.repo, "commit-tree", "-p", p.Base, "-m", "work", "HEAD^{tree}")
	d := &delivery{work: j.left(p)}
	if end := d.publish(t.Context()); end != nil || at(t, url, "millhand/a") != "" {
		t.Errorf("nothing was committed, and: %+v", end)
	}
	d.made = gitops.CommitResult{Hash: hash, Branch: "millhand/a"}
	j.Spec.Publish = tasks.PublishBranch
	if end := d.publish(t.Context()); end != nil || at(t, url, "millhand/a") != "" {
		t.Errorf("nothing was to be pushed, and: %+v", end)
	}
	j.Spec.Publish = tasks.PublishPush
	if end := d.publish(t.Context()); end != nil || at(t, url, "millhand/a") != hash {
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
	d.made.Hash = git(t, s.repo, "commit-tree", "-m", "other", "HEAD^{tree}")
	end := d.publish(t.Context())
	if end == nil || end.Code != event.CodeLease || !strings.Contains(end.Detail, "push branch millhand/a to ") || !strings.HasSuffix(end.Detail, "the changes are saved as a patch") {
		t.Errorf("a branch that is there: %+v", end)
	}
	j.Start.Earlier.Hash = hash
	if end = d.publish(t.Context()); end == nil || !strings.HasSuffix(end.Detail, "the changes are on the branch") {
		t.Errorf("of an earlier run: %+v", end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	if end = d.publish(ctx); end == nil || end.Code != event.CodeTerminated || !strings.Contains(s.warnings(), "was in progress when the run ended") {
		t.Errorf("after a signal: %+v; warnings: %s", end, s.warnings())
	}
}

// The forge can't make the first commit of a repository: the job ends, and nothing is pushed.
func TestTheForgeMakesNoFirstCommit(t *testing.T) {
	s := setUp(t)
	_, url := s.onForge()
	spec := s.allPublished()
	j := s.begin(&tasks.Plan{}, spec)
	d := &delivery{work: j.left(s.prepared(j)), made: gitops.CommitResult{Hash: git(t, s.repo, "commit-tree", "-m", "first", "HEAD^{tree}"), Branch: "millhand/a"}}
	if end := d.publish(t.Context()); end == nil || end.Detail != "read the commit: it has no parent" || at(t, url, "millhand/a") != "" {
		t.Errorf("%+v; the branch is at %s", end, at(t, url, "millhand/a"))
	}
}

func TestPublishInPlacePushesOnTopOfTheBase(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	spec := s.job("a")
	spec.Publish, spec.Commit.Branch = tasks.PublishPush, tasks.CurrentBranch
	j := s.begin(&tasks.Plan{}, spec)
	p := s.prepared(j)
	d := &delivery{work: j.left(p), made: gitops.CommitResult{Hash: git(t, s.repo, "commit-tree", "-p", p.Base, "-m", "work", "HEAD^{tree}"), Branch: "main"}}
	if end := d.publish(t.Context()); end != nil || at(t, url, "main") != d.made.Hash {
		t.Errorf("%+v; main is at %s", end, at(t, url, "main"))
	}
	if told := s.of(event.CommitPublished); len(told) != 1 || told[0].Published.Replaced != p.Base {
		t.Errorf("told %+v", told)
	}
	if end := d.publish(t.Context()); end == nil || end.Code != event.CodeLease {
		t.Errorf("main is not where the job began, and: %+v", end)
	}
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
	if exit != event.ExitTerminate || begun > MaxPublications || begun == 0 {
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
