package runner

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

func TestTheStartOfAJobIsReported(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p := s.prepared(j)
	j.started(p)
	dir := filepath.Join(s.opts.Work, "trees", "a")
	started := s.of(event.JobStarted)
	if len(started) != 1 {
		t.Fatalf("%d jobs started", len(started))
	}
	want := &event.JobStart{Sandbox: event.Sandbox{Level: "none"}, Workspace: dir, Base: p.Base, Branch: "millhand/a", Repository: s.repo, BaseRef: "main"}
	want.Landing = &event.Landing{Branch: "millhand/a", Message: j.Message(p.Base, "", "")}
	if diff := cmp.Diff(want, started[0].JobStart); diff != "" {
		t.Errorf("the job's start (-want +got):\n%s", diff)
	}
}
