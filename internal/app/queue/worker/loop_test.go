package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/queuetest"
	"github.com/millhand/millhand/tasks/problem"
)

// awaited is a log that calls a function when it has a text.
type awaited struct {
	mu   sync.Mutex
	log  strings.Builder
	text string
	do   func()
}

func (a *awaited) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log.Write(p)
	if a.do != nil && strings.Contains(a.log.String(), a.text) {
		go a.do()
		a.do = nil
	}
	return len(p), nil
}

func (a *awaited) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.String()
}

func TestAWorkerThatIsStoppedGivesItsJobBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(3, "  - {id: a, prompt: Add a notice., verify: ['sleep 600']}\n")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	log := &awaited{text: "started a of run ", do: func() { stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate}) }}
	s.world.Err = log
	err := Run(ctx, s.world, Options{Server: queue.Options{URL: s.server.URL}, Jobs: 1, Sandbox: "off"})
	if fault.ExitOf(err) != event.ExitTerminate || !strings.HasPrefix(err.Error(), "worker ") || !strings.HasSuffix(err.Error(), ": interrupted by SIGTERM") || !strings.Contains(log.String(), "gave back a of run "+r.ID+": interrupted by SIGTERM\n") {
		t.Errorf("%v, log %s", err, log)
	}
	if workers, err := s.queue.Workers(t.Context()); err != nil || len(workers) > 0 {
		t.Errorf("workers %+v, %v", workers, err)
	}
	if _, claim := s.claimed(); claim.Delivery != 2 || claim.Counted() != 0 {
		t.Errorf("delivery %d, %d counted", claim.Delivery, claim.Counted())
	}
}

func TestAWorkerEndsTheJobThatItRunsWhenTheRunIsCancelled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(3, "  - {id: a, prompt: Add a notice., verify: ['sleep 600']}\n  - {id: b, prompt: Add a notice., needs: [a]}\n")
	log := &awaited{text: "started a of run ", do: func() {
		if _, err := s.queue.Cancel(t.Context(), r, "not needed"); err != nil {
			t.Error(err)
		}
	}}
	s.world.Err = log
	if err := Run(t.Context(), s.world, Options{Server: queue.Options{URL: s.server.URL}, Jobs: 1, Sandbox: "off", Drain: true}); err != nil {
		t.Error(err)
	}
	if end := s.result(r, "a"); end.End.Outcome != event.Cancelled || end.End.Reason != "interrupted by millhand queue cancel" || !strings.Contains(log.String(), "cancelled a of run "+r.ID+" (") || strings.Contains(log.String(), "started b") {
		t.Errorf("%+v, log %s", end.End, log)
	}
}

// It has other work then.
func TestAJobOfARunThatWasCancelledBeforeItsClaimDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(3, "  - {id: a, prompt: Add a notice.}\n")
	k, claim := s.claimed()
	k.stopped[claim.Run.ID] = true
	if err := claim.Return(t.Context(), "later", true, 0); err != nil {
		t.Fatal(err)
	}
	k.opts.Jobs, k.opts.Once, k.changed = 1, true, make(chan struct{}, 1)
	if err := k.loop(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.running.Wait()
	if end := s.result(claim.Run, "a"); end.End.Outcome != event.Cancelled || end.End.Turns != 0 || len(k.claims) > 0 {
		t.Errorf("%+v, claims %v", end.End, k.claims)
	}
	if len(k.changed) != 1 {
		t.Error("others are not shown what changed")
	}
}

func TestOtherWorkersHearOfThePausesOfAProvider(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	k, other := testWorker(t, s), testWorker(t, s)
	k.id, k.pauses = "w1", make(chan announcement, 1)
	k.announces("openai/key", time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { k.announce(ctx) })
	var account string
	var cooled queue.Cooldown
	if err := other.queue.Signals(ctx, func(string) {}, func(name string, c queue.Cooldown) {
		account, cooled = name, c
		stop()
	}); err != nil {
		t.Error(err)
	}
	beside.Wait()
	if account != "openai/key" || cooled.Worker != "w1" || cooled.Wait <= 0 || cooled.Wait > time.Minute {
		t.Errorf("%s, %+v", account, cooled)
	}
}

func TestAJobThatCannotBePreparedIsGivenBack(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(k *worker, claim *queue.Claim){
		"no plan": func(k *worker, claim *queue.Claim) {
			p := &queuedPlan{err: errors.New("no plan")}
			p.once.Do(func() {})
			k.plans[claim.Run.ID] = p
		},
		"job another is not in the plan":    func(_ *worker, claim *queue.Claim) { claim.Job.ID = "another" },
		"invalid character 'x' looking for": func(_ *worker, claim *queue.Claim) { claim.Run.Options = json.RawMessage("x") },
	} {
		s := newStage(t)
		s.submit(3, "  - {id: a, prompt: Add a notice.}\n")
		k, claim := s.claimed()
		key := claim.Job.Key
		change(k, claim)
		k.job(t.Context(), claim)
		if _, found, err := s.queue.Result(t.Context(), claim.Run.ID, key); found || err != nil || k.faults != 1 || !strings.Contains(s.log.String(), "gave back ") || !strings.Contains(s.log.String(), want) {
			t.Errorf("%s: ended %t, %v, %d faults, log %s", want, found, err, k.faults, &s.log)
		}
	}
}

// These are no faults of the machine, and no other worker would do better.
func TestAJobThatMayNotRunEndsWithTheReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task, top string // keys of the manifest
		later     time.Duration
		code      event.Code
		want      string
	}{
		"time":   {"verify: ['true']", "budget: {time: 1m}\n", time.Hour, event.CodeDeadline, "run timed out after 1m0s"},
		"branch": {"repos: [{url: 'REMOTE', ref: next}]", "", 0, event.CodeBase, `resolve revision "next": branch, tag or commit not found`},
	} {
		s := newStage(t)
		s.At(s.remote).Run("branch", "next")
		r := s.submit(3, "  - {id: a, prompt: Add a notice., "+strings.ReplaceAll(c.task, "REMOTE", "file://"+s.remote)+"}\n"+c.top)
		k, claim := s.claimed()
		k.world.Now = func() time.Time { return time.Now().Add(c.later) }
		s.At(s.remote).Run("branch", "-D", "next")
		k.job(t.Context(), claim)
		end := s.result(r, "a")
		if end.End.Code != c.code || !strings.Contains(end.End.Reason, c.want) || end.End.Turns != 0 || k.faults != 0 {
			t.Errorf("%s: %+v, %d faults", name, end.End, k.faults)
		}
		if all := s.events(r); all[len(all)-1].Type != event.RunEnded {
			t.Errorf("%s: events %+v", name, all)
		}
	}
}

func TestAnUntrustingWorkerBoundsEveryPlan(t *testing.T) {
	t.Parallel()
	s := queuetest.Start(t)
	const manifest = "version: 1\nmodel: openai/gpt-5-mini\nprofile: full\nrepos: [{url: 'https://example.com/r.git'}]\ntasks:\n  - {id: a, prompt: fix it}\n"
	k := testWorker(t, s)
	r := store(t, s, "r", map[string]string{"/a/m.yaml": manifest}, queued.Options{MaxProfile: "full"})
	if plan, err := k.load(t.Context(), r); plan == nil || !plan.Jobs[0].Profile.MayChange() { // it differs from what was submitted
		t.Errorf("%v", err)
	}
	k.opts.Policies.Untrusted = true
	if plan, err := k.load(t.Context(), r); plan != nil || err == nil || !strings.Contains(err.Error(), `the host "example.com" not allowed by hosts (--untrusted)`) {
		t.Errorf("%v", err)
	}
}

func TestOthersSeeMistakesOfManifestsOnly(t *testing.T) {
	t.Parallel()
	k, _, _ := idle(t)
	k.world.Getenv = func(name string) string { return map[string]string{"OPENAI_API_KEY": "sk-secret-of-the-worker"}[name] }
	r := &queue.Run{ID: "r", Manifests: []string{"/a/m.yaml"}, Policies: []string{"/a/p.yaml"}}
	own, policy, other := problem.Problem{File: "/a/m.yaml", What: "bad sk-secret-of-the-worker"}, problem.Problem{File: "/a/p.yaml", What: "worse"}, problem.Problem{File: "/etc/passwd", What: "root:x"}
	for _, c := range []struct {
		err           error
		want, without []string
	}{
		{errors.New("no network, sk-secret-of-the-worker"), []string{"no network, "}, []string{"sk-secret", "other files"}},
		{problem.List{own, policy}, []string{"/a/m.yaml", "bad ", "worse"}, []string{"sk-secret", "other files"}},
		{fault.Wrap(event.ExitUsage, problem.List{own, other, other}), []string{"bad ", "\n2 problems in other files: the log of the worker has them"}, []string{"root:x", "passwd"}},
		{problem.List{other}, []string{"1 problem in other files: the log of the worker has them"}, []string{"root:x", "passwd"}},
	} {
		text := k.refusal(r, c.err)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
		for _, not := range c.without {
			if strings.Contains(text, not) {
				t.Errorf("%q has %q", text, not)
			}
		}
		if strings.HasPrefix(text, "\n") {
			t.Errorf("%q", text)
		}
	}
}

// It is an input of the run: the worker's own is somebody else's.
func TestAWorkerHasTheStandardInputOfTheSubmitter(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.world.In = strings.NewReader("file://" + s.remote + "\n")
	r := s.submit(3, "  - {id: a, prompt: Add a notice., repos: [{file: '-'}]}\n")
	if k, claim := s.claimed(); claim.Run.ID != r.ID || k.plans[r.ID].plan.Jobs[0].Repo.URL != "file://"+s.remote {
		t.Errorf("%+v", k.plans[r.ID].plan)
	}
}
