package history

import (
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/event"
)

// Session is what earlier processes did of a session.
type Session struct {
	Copied int // last turn of a conversation that was copied from another run; 0 for none
	turns  map[int]turn
}

type turn struct {
	base   string      // commit that the job had started from
	stage  int         // number of escalations before it
	start  event.Turn  // zero for calls of a prompt
	end    *event.Turn // nil for a turn that did not end
	calls  int         // completed, denied or failed
	denied int
	called []event.Call // those that were completed or denied
}

func (s *Session) addTurn(e event.Event, base string, stage int) {
	t := s.turns[e.Turn.Number]
	t.base = base
	if e.Type == event.TurnStarted {
		t.start, t.stage = *e.Turn, stage
	} else {
		t.end = e.Turn
	}
	s.turns[e.Turn.Number] = t
}

func (s *Session) addCall(c *event.Call) {
	if c.Status == event.CallPending || c.Status == event.CallRunning {
		return
	}
	t := s.turns[c.Turn]
	t.calls++
	if c.Status == event.CallDenied {
		t.denied++
	}
	if c.Status != event.CallError {
		t.called = append(t.called, event.Call{Tool: c.Tool, Status: c.Status, Decision: c.Decision})
	}
	s.turns[c.Turn] = t
}

// Totals returns the sums of the turns that ended, and the number of the last one. Calls of
// a turn that did not end are repeated.
func (s *Session) Totals() (sum event.Totals, ended int) {
	ended = s.Copied
	for number, t := range s.turns {
		sum.Turns = max(sum.Turns, number-s.Copied)
		if t.end == nil {
			continue
		}
		ended = max(ended, number)
		sum.Calls, sum.Denied = sum.Calls+t.calls, sum.Denied+t.denied
		if number == 0 {
			continue
		}
		sum.Add(t.end.Usage, t.end.CostUSD)
	}
	return sum, ended
}

// Lost returns the turns whose responses were lost in a kill: those that did not end, except
// the one of a response that was saved (0 for none).
func (s *Session) Lost(saved int) (numbers []int) {
	for _, number := range slices.Sorted(maps.Keys(s.turns)) {
		if number > 0 && number != saved && s.turns[number].end == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Started returns the start of a turn; zero for a turn that did not start.
func (s *Session) Started(turn int) event.Turn { return s.turns[turn].start }

// LostTurn returns the end of a turn that a kill interrupted, with the estimate of its start.
func LostTurn(start event.Turn) event.Turn {
	end := event.Turn{Number: start.Number, Error: "the run was killed before the turn was complete"}
	if asked := start.Request; asked != nil {
		end.Usage, end.CostUSD, end.Lost = &asked.Usage, asked.CostUSD, asked
	}
	return end
}

// Last returns the number of the last turn; 0 for none.
func (s *Session) Last() (last int) {
	for number := range s.turns {
		last = max(last, number)
	}
	return last
}
