package models

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
)

// The defaults of a provider's retry settings.
const (
	defaultMaxWait       = 15 * time.Minute
	defaultFallbackAfter = time.Minute
)

// patience returns how long requests to a model wait while its provider is down; more reports
// whether there is another model to fall back to.
func (m *Set) patience(id string, more bool) time.Duration {
	prefix, _, _ := strings.Cut(id, "/")
	own := m.Plan.Providers[prefix].Retry
	wait := cmp.Or(own.MaxWait, defaultMaxWait)
	if more {
		wait = min(wait, cmp.Or(own.FallbackAfter, defaultFallbackAfter))
	}
	return wait
}

// outage returns how the session waits for the provider of a model.
func (s session) outage(name string, wait time.Duration) model.Outage {
	return model.Outage{Job: s.job, Wait: wait, Pause: s.on.Pause, Notify: func(h model.Held) {
		r := event.Retry{Attempt: h.Failures, WaitMS: max(h.Waited.Milliseconds(), 1), Error: h.Err.Error(), Outage: true}
		if h.Waited == 0 {
			r = event.Retry{Outage: true, Error: fmt.Sprintf("the provider of %s has been down for %v; requests wait for at most %v (now %d): %v", name, h.Down.Round(time.Second), wait, h.Requests, h.Err)}
		}
		s.on.Retry(r)
	}}
}
