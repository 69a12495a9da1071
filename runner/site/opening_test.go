package site

import (
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// A call that waits long for the files of its job is reported.
func TestALongWaitForTheCheckoutIsReported(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	o := &opening{job: j, done: make(chan struct{}), start: func() {}}
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && len(s.of(event.PhaseStarted)) == 0; {
			time.Sleep(time.Millisecond)
		}
		close(o.done)
	}()
	if end := (&Site{opening: o}).WaitFor(); end != nil {
		t.Errorf("%+v", end)
	}
	began, ended := s.of(event.PhaseStarted), s.of(event.PhaseEnded)
	if len(began) != 1 || len(ended) != 1 || began[0].Phase.Name != event.CheckoutPhase || ended[0].Phase.ElapsedMS < longWait.Milliseconds() {
		t.Errorf("%+v, %+v", began, ended)
	}
	if end := (&Site{opening: o}).WaitFor(); end != nil || len(s.of(event.PhaseStarted)) != 1 {
		t.Error("no wait is reported")
	}
}
