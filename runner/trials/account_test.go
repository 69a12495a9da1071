package trials

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/sitetest"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// changed opens the site of a job, writes files there, and returns what has changed.
func changed(t *testing.T, s *sitetest.Stage, spec tasks.Job, files map[string]string) (*site.Job, *site.Site, *state.ChangeSet) {
	t.Helper()
	j, at := s.Open(spec)
	for name, text := range files {
		writeFile(t, filepath.Join(at.Space.Dir(), name), text)
	}
	found, err := at.Diff.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return j, at, found.Changes
}

// Each hunk is needed by the first command that fails without it, or by nothing. A process that knows the results of
// another one runs nothing again, and has the same account.
func TestTheAccountOfAChange(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "runs")
	s := sitetest.New(t, map[string]string{"a": "one\n", "b": "one\n"})
	spec := accounted(s, "echo >>"+log+"; true", "grep -q two a")
	j, at, cs := changed(t, s, spec, map[string]string{"a": "two\n", "b": "two\n", "c": "x\n"})
	known := Results{}
	h, end := Account(t.Context(), at, j, cs, known)
	if end != nil || h == nil {
		t.Fatalf("%+v, %+v", h, end)
	}
	var states []string
	for _, e := range h.List {
		states = append(states, e.Path+" "+e.State+" "+e.By)
	}
	want(t, "the hunks", []string{"a needed v2", "b unneeded ", "c unneeded "}, states)
	if h.Needed != 1 || h.Unneeded != 2 || h.Untried != 0 || h.Reason != "" || h.Runs == 0 || h.Runs > h.MaxRuns {
		t.Errorf("%+v", h)
	}
	if started := s.Of(event.AblationStarted); len(started) != 1 || started[0].Ablation.MaxRuns != h.MaxRuns || len(s.Of(event.AblationEnded)) != 1 {
		t.Errorf("its start: %+v", started)
	}
	ran, facts := lines(log), &history.Facts{Trials: map[string]event.Trial{}}
	for _, e := range s.Of(event.TrialEnded) {
		facts.Trials[e.Trial.Key] = *e.Trial
	}
	want(t, "trials whose end was reported", len(known), len(facts.Trials))
	again, end := Account(t.Context(), at, j, cs, Earlier(facts))
	if end != nil || lines(log) != ran {
		t.Errorf("%d runs more, %+v", lines(log)-ran, end)
	}
	again.ElapsedMS = h.ElapsedMS
	want(t, "the account of another process", h, again)
}

// A command that passes and fails on the same files counts for nothing, and neither does one that fails in a clean
// checkout; without others, no hunk is tried.
func TestCommandsThatCountForNothing(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	s := sitetest.New(t, map[string]string{"a": "one\n"})
	spec := accounted(s, "echo >>"+count+"; test $(($(wc -l <"+count+") % 2)) = 1", "test -e ignored")
	spec.Ablate.Jobs = 1
	j, at, cs := changed(t, s, spec, map[string]string{"a": "two\n"})
	h, end := Account(t.Context(), at, j, cs, Results{})
	if end != nil {
		t.Fatalf("%+v", end)
	}
	want(t, "flaky", []string{"v1"}, h.Flaky)
	want(t, "the reason", "verify v2 fails in a clean checkout of the changes, and counts for nothing; flaky: v1", h.Reason)
	if h.Untried != 1 || h.Needed+h.Unneeded != 0 {
		t.Errorf("%+v", h)
	}
}

// What the time of the account does not suffice for is untried, and the job goes on; a job that has ended has no account.
func TestTheTimeOfAnAccount(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, map[string]string{"a": "one\n"})
	spec := accounted(s, "sleep 100")
	spec.Ablate.Time = 50 * time.Millisecond
	j, at, cs := changed(t, s, spec, map[string]string{"a": "two\n"})
	h, end := Account(t.Context(), at, j, cs, Results{})
	if end != nil || h.Untried+h.Needed+h.Unneeded != h.Untried || !strings.HasPrefix(h.Reason, "timed out after ") {
		t.Errorf("%+v, %+v", h, end)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	if h, end := Account(ended, at, j, cs, Results{}); h != nil || end == nil {
		t.Errorf("of a job that has ended: %+v, %+v", h, end)
	}
	if h, end := Account(t.Context(), at, j, &state.ChangeSet{}, Results{}); h != nil || end != nil {
		t.Errorf("of no change: %+v, %+v", h, end)
	}
	if len(openFiles(s, "trials")) > 0 {
		t.Errorf("open %q", openFiles(s, "trials"))
	}
}
