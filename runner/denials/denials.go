// Package denials remembers the denied calls of a job, also those that its earlier processes have recorded (package history),
// and advises another profile if that allows them. It denies nothing.
package denials

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/history"
)

// Calls are the denied calls of a job. They show whether its profile was forgotten: if another preset allows each of them.
type Calls struct {
	mu  sync.Mutex
	all []denial
}

type denial struct {
	tool   string
	preset string // the narrowest that allows it; "" for none
	solved bool   // the agent called the tool later in a way that is allowed
}

// See records a call that was denied under the job's profile, or one that was completed.
func (d *Calls) See(p permission.Profile, c event.Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tool := strings.ToLower(c.Tool)
	switch {
	case c.Status == event.CallCompleted:
		for i := range d.all {
			d.all[i].solved = d.all[i].solved || d.all[i].tool == tool
		}
	case c.Status == event.CallDenied && c.Decision != nil:
		d.all = append(d.all, denial{tool: tool, preset: p.AllowedBy(c.Tool, c.Decision.Rule, c.Decision.Source)})
	}
}

// Recall records the calls of earlier processes.
func (d *Calls) Recall(p permission.Profile, past *history.Facts) {
	for _, c := range past.Called() {
		d.See(p, c)
	}
}

// Advice returns which profile to set instead of the job's; "" if no call was denied, one that no preset allows, or, unless the
// task asks for changes, only calls of tools that were completed later.
func (d *Calls) Advice(p permission.Profile, changing bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !changing && !slices.ContainsFunc(d.all, func(r denial) bool { return !r.solved }) {
		return ""
	}
	widest := ""
	for _, name := range permission.Presets() { // from the narrowest
		for _, r := range d.all {
			switch r.preset {
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
