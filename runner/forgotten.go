package runner

import (
	"fmt"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
)

// refusals are the denied calls of a job. They show whether its profile was forgotten: if another preset allows each of them.
type refusals struct {
	mu      sync.Mutex
	presets []string // for each call, the narrowest that allows it; "" for none
}

// see records a call that was denied under the job's profile.
func (d *refusals) see(p permission.Profile, e event.Event) {
	if e.Type != event.CallUpdated || e.Call.Status != event.CallDenied || e.Call.Decision == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.presets = append(d.presets, p.AllowedBy(e.Call.Tool, e.Call.Decision.Rule, e.Call.Decision.Source))
}

// advice returns which profile to set instead of the job's; "" if no call was denied, or one that no preset allows.
func (d *refusals) advice(p permission.Profile) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	widest := ""
	for _, name := range permission.Presets() { // from the narrowest
		for _, needed := range d.presets {
			switch needed {
			case "":
				return ""
			case name:
				widest = name
			}
		}
	}
	switch {
	case widest == "":
		return ""
	case p.MayChange() || widest == "full":
		return fmt.Sprintf("another profile allows what the profile %s denied%s%s", p.Name, permission.SetProfile, widest)
	}
	return permission.CannotChange(p.Name)
}

// forgotten warns of a job whose profile was probably forgotten, because nothing was changed. A task that asks for changes
// fails.
func (l *landing) forgotten() *stop {
	j := l.job
	text := j.refused.advice(j.spec.Profile)
	switch {
	case text == "":
		return nil
	case j.spec.Changing:
		return &stop{code: event.CodeProfile, detail: "nothing was changed: " + text}
	}
	j.warn(text)
	return nil
}
