package session

import (
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
)

// events are what a session emits: each names its job and the session.
type events struct {
	job, session string
	now          func() time.Time
	to           func(event.Event)
}

func (e events) emit(v event.Event) {
	v.Job, v.Session = e.job, e.session
	e.to(v)
}

func (e events) call(c event.Call) { e.emit(event.Event{Type: event.CallUpdated, Call: &c}) }

// pending emits that a call will be run.
func (e events) pending(turn int, c model.ToolCall) {
	e.call(event.Call{ID: c.ID, Turn: turn, Tool: c.Name, Input: rawInput(c.Input), Status: event.CallPending, StartedAt: e.now()})
}

// pruned emits what was removed from the conversation, if anything was, and reports whether it was.
func (e events) pruned(done *event.Prune) bool {
	if done != nil {
		e.emit(event.Event{Type: event.Pruned, Prune: done})
	}
	return done != nil
}

// text emits the text of a response, unless it is empty.
func (e events) text(t event.Text) {
	if t.Text != "" || t.Reasoning != "" {
		e.emit(event.Event{Type: event.ModelText, Text: &t})
	}
}

func (e events) turnEnded(t *event.Turn) { e.emit(event.Event{Type: event.TurnEnded, Turn: t}) }

func (e events) warn(message string) {
	e.emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: message}})
}
