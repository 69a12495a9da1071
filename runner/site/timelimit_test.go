package site

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// began returns a limit that started some time ago, with a clock that stands still.
func began(limit, ago time.Duration) *TimeLimit {
	now := time.Unix(1000, 0)
	return &TimeLimit{limit: limit, started: now.Add(-ago), now: func() time.Time { return now }}
}

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
			l := &TimeLimit{limit: time.Minute, now: time.Now}
			l.start()
			began := time.Now()
			ctx, cancel := l.In(t.Context())
			defer cancel()
			for _, w := range test.waits {
				go func() {
					time.Sleep(w.from)
					resume := l.Pause()
					time.Sleep(w.to - w.from)
					resume()
				}()
			}
			<-ctx.Done()
			if took := time.Since(began); took < test.want || took > test.want+2*time.Second {
				t.Errorf("%s: ended after %v, want %v", name, took, test.want)
			}
			if cause, ok := context.Cause(ctx).(event.EndCause); !ok || cause.Code != event.CodeLimit || cause.Reason != "job timed out after 1m0s" { //nolint:errorlint // a cause is never wrapped
				t.Errorf("%s: the cause is %v", name, context.Cause(ctx))
			}
			time.Sleep(5 * time.Minute) // for the waits
		})
	}
}

// The context of a phase ends with the phase, also without a limit, and one that starts too late has ended.
func TestContextsOfATimeLimit(t *testing.T) {
	for name, c := range map[string]struct {
		limit *TimeLimit
		ended bool
	}{
		"time left":    {began(time.Hour, 59*time.Minute), false},
		"no time left": {began(time.Hour, time.Hour), true},
		"no limit":     {&TimeLimit{}, false},
	} {
		ctx, cancel := c.limit.In(t.Context())
		if ended := ctx.Err() != nil; ended != c.ended {
			t.Errorf("%s: it has ended: %t", name, ended)
		}
		if cancel(); ctx.Err() == nil {
			t.Errorf("%s: it goes on after its phase", name)
		}
	}
}

func TestTheRestOfATimeLimit(t *testing.T) {
	for name, c := range map[string]struct {
		limit       *TimeLimit
		left, again time.Duration
	}{
		"some":          {began(time.Hour, 59*time.Minute), time.Minute, time.Minute},
		"exceeded":      {began(time.Hour, 2*time.Hour), 1, -time.Hour}, // 0 would mean no limit
		"nearly paused": {began(time.Hour, time.Hour-time.Millisecond), time.Millisecond, time.Second},
	} {
		if name == "nearly paused" {
			defer c.limit.Pause()()
		}
		if left := c.limit.Left(); left != c.left {
			t.Errorf("%s: %v left", name, left)
		}
		if _, again := c.limit.left(); again != c.again {
			t.Errorf("%s: examined again after %v", name, again)
		}
	}
	var none TimeLimit
	none.start()
	none.Pause()()
	if left := none.Left(); left != 0 {
		t.Errorf("without a limit: %v left", left)
	}
}

// What is limited beside the job leaves it the time to end.
func TestATimeWithinTheLimitOfTheJob(t *testing.T) {
	for _, c := range []struct{ limit, ran, most, want time.Duration }{
		{0, time.Hour, time.Minute, time.Minute},
		{time.Hour, time.Minute, 5 * time.Minute, 5 * time.Minute},
		{10 * time.Minute, 9 * time.Minute, 5 * time.Minute, 54 * time.Second},
		{time.Hour, 0, 2 * time.Hour, time.Hour - 10*time.Second},
	} {
		if got := began(c.limit, c.ran).Within(c.most); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
