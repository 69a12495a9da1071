package session

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/tools"
)

const (
	sideBySide = 8   // read-only calls that run at once
	maxCalls   = 128 // calls of one turn that are carried out
)

// carryOut answers every call of a turn exactly once, in their order. Runs of
// read-only calls go side by side; any other call waits for those before it
// and holds back those after it, because it may change what they see.
func (s *Session) carryOut(ctx context.Context, turn int, calls []model.ToolCall) []model.Message {
	for _, c := range calls {
		s.emitCall(event.Call{ID: c.ID, Turn: turn, Tool: c.Name, Input: rawInput(c.Input), Status: event.CallPending, StartedAt: s.cfg.Now()})
	}
	answers := make([]model.Message, len(calls))
	for first := 0; first < len(calls); {
		last := first + 1
		if s.cfg.Tools.ReadOnly(calls[first].Name) {
			for last < len(calls) && last-first < sideBySide && s.cfg.Tools.ReadOnly(calls[last].Name) {
				last++
			}
		}
		var group sync.WaitGroup
		for i := first; i < last; i++ {
			group.Go(func() { answers[i] = s.call(ctx, turn, i, calls[i]) })
		}
		group.Wait()
		s.count(answers[first:last])
		first = last
	}
	return answers
}

// call carries out one call and tells its end.
func (s *Session) call(ctx context.Context, turn, index int, c model.ToolCall) model.Message {
	record := event.Call{ID: c.ID, Turn: turn, Tool: c.Name, Input: rawInput(c.Input), StartedAt: s.cfg.Now()}
	out := s.dispatch(ctx, index, c, func(title string) {
		running := record
		running.Status, running.Title = event.CallRunning, title
		s.emitCall(running)
	})
	record.Status, record.Title, record.Error = event.CallStatus(out.Status), out.Title, out.Error
	record.OutputBytes, record.Truncated = out.Bytes, out.Truncated
	record.ElapsedMS = s.cfg.Now().Sub(record.StartedAt).Milliseconds()
	if d := out.Decision; d != nil {
		record.Decision = &event.Decision{Effect: d.Effect.String(), Rule: d.Rule, Source: d.Source}
	}
	s.emitCall(record)
	return model.Message{
		Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: out.Text(),
		Failed: out.Status != tools.Completed, Denied: out.Status == tools.Denied,
	}
}

// dispatch sends a call through the gate, unless the session is over or the
// model asks for more at once than any honest one does.
func (s *Session) dispatch(ctx context.Context, index int, c model.ToolCall, running func(string)) tools.Outcome {
	if ctx.Err() != nil {
		return tools.Outcome{Tool: c.Name, Status: tools.Failed, Error: "the call was interrupted before it began"}
	}
	if index >= maxCalls {
		return tools.Outcome{Tool: c.Name, Status: tools.Failed, Error: "too many calls in one turn: only the first 128 are carried out"}
	}
	return s.cfg.Tools.Dispatch(ctx, s.cfg.Env, tools.Call{ID: c.ID, Name: c.Name, Input: c.Input}, running)
}

// count keeps the counts that limits look at.
func (s *Session) count(answers []model.Message) {
	for _, a := range answers {
		s.totals.Calls++
		switch {
		case a.Denied:
			s.totals.Denied++
			s.failures++
		case a.Failed:
			s.failures++
		default:
			s.failures = 0
		}
	}
}

func (s *Session) emitCall(c event.Call) {
	s.emit(event.Event{Type: event.CallChanged, Call: &c})
}

// rawInput is a call's arguments for the record: as they are if they are JSON,
// else as a string that holds them.
func rawInput(input string) json.RawMessage {
	if trimmed := strings.TrimSpace(input); json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	quoted, err := json.Marshal(strings.ToValidUTF8(input, "\uFFFD"))
	if err != nil {
		return nil
	}
	return quoted
}
