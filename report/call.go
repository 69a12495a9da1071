package report

import (
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// call is the last state of a call, with its session.
type call struct {
	session *session
	turn    *turn
	index   int // in the calls of the turn, from 0
	event.Call
}

type callKey struct {
	session string
	turn    int
	id      string
}

// calls are the calls of a job.
type calls struct {
	all  []*call // in the order of their first event
	open map[callKey]*call
}

// take records the last state of a call: the final state includes the earlier ones.
// After it the same id is another call.
func (cs *calls) take(s *session, e *event.Call) {
	key := callKey{s.id, e.Turn, e.ID}
	c, ok := cs.open[key]
	switch {
	case !ok:
		c = cs.add(key, s)
	case c.Status == event.CallPending && e.Status == event.CallPending:
		cs.drop(c) // the complete response decides the order
		cs.all = append(cs.all, c)
	}
	c.Call = *e
	c.Input, c.InputGiven, c.Decision, c.Metadata = value(c.Input), value(c.InputGiven), clone(c.Decision), clone(c.Metadata)
	if c.Status != event.CallPending && c.Status != event.CallRunning {
		delete(cs.open, key)
	}
}

func (cs *calls) add(key callKey, s *session) *call {
	c := &call{session: s, turn: s.turn(key.turn)}
	cs.all = append(cs.all, c)
	if cs.open == nil {
		cs.open = map[callKey]*call{}
	}
	cs.open[key] = c
	return c
}

// withdraw removes the pending calls of a turn.
func (cs *calls) withdraw(session string, turn int) {
	for key, c := range cs.open {
		if key.session == session && key.turn == turn && c.Status == event.CallPending {
			delete(cs.open, key)
			cs.drop(c)
		}
	}
}

func (cs *calls) drop(c *call) {
	for i, other := range slices.Backward(cs.all) {
		if other == c {
			cs.all = slices.Delete(cs.all, i, i+1)
			return
		}
	}
}

// settle removes what the calls of a job that has ended do not need: an empty map needs as much memory as a call.
func (cs *calls) settle() {
	if len(cs.open) == 0 {
		cs.open = nil
	}
}

// number numbers the calls of each turn.
func (cs *calls) number() {
	count := map[*turn]int{}
	for _, c := range cs.all {
		c.index = count[c.turn]
		count[c.turn]++
		c.turn.calls = count[c.turn]
	}
}

// denials returns the number of turns with denied calls, and the cost shares of these
// calls.
func (cs *calls) denials() (turns int, cost *money.USD) {
	var sum money.Total
	seen := map[*turn]bool{}
	for _, c := range cs.all {
		if c.Status == event.CallDenied {
			seen[c.turn] = true
			sum.Add(c.turn.share(c.index), 0)
		}
	}
	return len(seen), sum.USD()
}

func (c *call) report() Call {
	out := Call{
		ID:        c.ID,
		Session:   c.session.id,
		Turn:      c.turn.number,
		Tool:      c.Tool,
		Extension: c.Extension,
		Input:     c.Input, InputGiven: c.InputGiven,
		Status:       c.Status,
		Decision:     clone(c.Decision),
		Title:        c.Title,
		OutputBytes:  c.OutputBytes,
		Truncated:    c.Truncated,
		Cached:       c.Cached,
		Error:        c.Error,
		StartedAt:    stamp(c.StartedAt),
		ElapsedMS:    c.ElapsedMS,
		CostShareUSD: c.turn.share(c.index),
		Metadata:     clone(c.Metadata),
	}
	if c.Status == event.CallPending || c.Status == event.CallRunning {
		out.Status, out.Error = event.CallError, "interrupted"
	}
	return out
}

func denial(c Call) Denial {
	out := Denial{ID: c.ID, Session: c.Session, Turn: c.Turn, Tool: c.Tool, Input: c.Input, Error: c.Error}
	if c.Decision != nil {
		out.Rule, out.Source = c.Decision.Rule, c.Decision.Source
	}
	return out
}
