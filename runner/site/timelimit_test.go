package site

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
)

// A job's time limit does not count the waits for a provider that is down.
func TestTimeLimitPauses(t *testing.T) {
	type wait struct{ from, to time.Duration }
	for name, test := range map[string]struct {
		waits []wait
		want  time.Duration // when the job is ended
	}{
		"none":                      {nil, time.Minute},
		"one":                       {[]wait{{10 * time.Second, 10 * time.Minute}}, 10*time.Minute + 50*time.Second},
		"two":                       {[]wait{{10 * time.Second, 20 * time.Second}, {30 * time.Second, 90 * time.Second}}, 130 * time.Second},
		"two sessions concurrently": {[]wait{{10 * time.Second, 30 * time.Second}, {20 * time.Second, 40 * time.Second}}, 90 * time.Second},
		"at the end":                {[]wait{{59*time.Second + 999*time.Millisecond, 2 * time.Minute}}, 2*time.Minute + time.Millisecond},
		"after the end":             {[]wait{{2 * time.Minute, 3 * time.Minute}}, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &Job{Spec: tasks.Job{Limits: tasks.Limits{Time: time.Minute}}, opts: &Options{Now: time.Now}}
			began := time.Now()
			ctx, cancel := (&Site{job: j, prepared: began}).InTime(t.Context())
			defer cancel()
			for _, w := range test.waits {
				go func() {
					time.Sleep(w.from)
					resume := j.TimeLimit.Pause(time.Now)
					time.Sleep(w.to - w.from)
					resume()
				}()
			}
			<-ctx.Done()
			if took := time.Since(began); took < test.want || took > test.want+2*time.Second {
				t.Errorf("%s: ended after %v, want %v", name, took, test.want)
			}
			if cause, ok := context.Cause(ctx).(session.Timeout); !ok || cause.Code != event.CodeLimit || cause.Reason != "job timed out after 1m0s" { //nolint:errorlint // a cause is never wrapped
				t.Errorf("%s: the cause is %v", name, context.Cause(ctx))
			}
			time.Sleep(5 * time.Minute) // for the waits
		})
	}
}

func TestTimeLimitAfterItsEnd(t *testing.T) {
	j := &Job{Spec: tasks.Job{Limits: tasks.Limits{Time: time.Minute}}, opts: &Options{Now: time.Now}}
	ctx, cancel := (&Site{job: j, prepared: time.Now().Add(-time.Hour)}).InTime(t.Context())
	defer cancel()
	if ctx.Err() == nil {
		t.Error("the job has time left")
	}
}

func TestJobTimeoutStartsAtPrepare(t *testing.T) {
	began := time.Now()
	j := &Job{Spec: tasks.Job{Limits: tasks.Limits{Time: time.Hour}}, opts: &Options{Now: time.Now}}
	for _, ago := range []time.Duration{59 * time.Minute, 61 * time.Minute} {
		ctx, cancel := (&Site{job: j, prepared: began.Add(-ago)}).InTime(t.Context())
		defer cancel()
		if ended := ctx.Err() != nil; ended != (ago > time.Hour) {
			t.Errorf("prepared %v ago, the job has ended: %t", ago, ended)
		}
	}
	if left, again := j.TimeLimit.left(began.Add(59*time.Minute), began, time.Hour); left != time.Minute || again != left {
		t.Errorf("%v left, to be examined after %v", left, again)
	}
	j.Spec.Limits.Time = 0
	ctx, cancel := (&Site{job: j, prepared: began.Add(-time.Hour)}).InTime(t.Context())
	defer cancel()
	if ctx.Err() != nil {
		t.Error("the job ended without a limit")
	}
}

// What is limited beside the job leaves it the time to end.
func TestATimeWithinTheLimitOfTheJob(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct{ limit, ran, most, want time.Duration }{
		{0, time.Hour, time.Minute, time.Minute},
		{time.Hour, time.Minute, 5 * time.Minute, 5 * time.Minute},
		{10 * time.Minute, 9 * time.Minute, 5 * time.Minute, 54 * time.Second},
		{time.Hour, 0, 2 * time.Hour, time.Hour - 10*time.Second},
	} {
		now := start.Add(c.ran)
		s := &Site{prepared: start, job: &Job{opts: &Options{Now: func() time.Time { return now }}, Spec: tasks.Job{Limits: tasks.Limits{Time: c.limit}}}}
		if got := s.Within(c.most); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
