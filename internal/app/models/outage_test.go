package models

import (
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/tasks"
)

func TestAModelWithAFallbackWaitsLess(t *testing.T) {
	s := newSet(&tasks.Plan{Providers: map[string]tasks.Provider{
		"short": {Retry: tasks.Retry{MaxWait: 30 * time.Second}},
		"long":  {Retry: tasks.Retry{MaxWait: time.Hour, FallbackAfter: 2 * time.Hour}},
		"quick": {Retry: tasks.Retry{FallbackAfter: time.Second}},
	}}, nil)
	for id, want := range map[string][2]time.Duration{ // alone, and with a fallback
		"openai/gpt-5": {15 * time.Minute, time.Minute},
		"short/m":      {30 * time.Second, 30 * time.Second},
		"long/m":       {time.Hour, time.Hour},
		"quick/m":      {15 * time.Minute, time.Second},
	} {
		if got := [2]time.Duration{s.patience(id, false), s.patience(id, true)}; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

func TestNoticesOfAnOutage(t *testing.T) {
	var got []event.Retry
	s := session{on: opened.Notices{Retry: func(r event.Retry) { got = append(got, r) }}}
	notify := s.outage("house/m", 15*time.Minute).Notify
	down := model.Fail(model.ClassUnavailable, errStub("refused"))
	notify(model.Held{Failures: 2, Down: 90 * time.Second, Requests: 4, Err: down})
	notify(model.Held{Failures: 2, Waited: 3 * time.Second, Err: down})
	notify(model.Held{Waited: time.Nanosecond, Err: down})
	if n := got[0]; !n.Outage || n.WaitMS != 0 || n.Attempt != 0 || !strings.HasPrefix(n.Error, "the provider of house/m has been down for 1m30s; requests wait for at most 15m0s (now 4): ") || !strings.HasSuffix(n.Error, "refused") {
		t.Errorf("the notice is %+v", n)
	}
	if n := got[1]; !n.Outage || n.WaitMS != 3000 || n.Attempt != 2 {
		t.Errorf("the end of the wait is %+v", n)
	}
	if n := got[2]; n.WaitMS == 0 || n.Attempt != 0 {
		t.Errorf("the end of a short wait is %+v", n)
	}
}

// errStub is an error with this text.
type errStub string

func (e errStub) Error() string { return string(e) }
