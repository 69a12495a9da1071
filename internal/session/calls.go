package session

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/tools"
)

const (
	maxParallel = 8   // read-only calls that run concurrently
	maxCalls    = 128 // calls of one turn that are run
)

// runCalls runs the calls of a turn and returns a result for each, in their order.
// Consecutive calls that allow it (read-only ones, subagents) run concurrently. Any
// other call runs alone, because it may change what the others read; and so does each while one may take rights away
// from those after it.
func (s *Session) runCalls(ctx context.Context, turn int, calls []model.ToolCall) []journal.Message {
	for _, c := range calls {
		s.events.pending(turn, c)
	}
	s.cfg.Env.Untrusted.Turn = turn
	results := make([]journal.Message, len(calls))
	for first := 0; first < len(calls); {
		last := first + 1
		if s.cfg.Tools.Parallel(calls[first].Name) && !s.cfg.Env.Untrusted.Armed() {
			for last < len(calls) && last-first < maxParallel && s.cfg.Tools.Parallel(calls[last].Name) {
				last++
			}
		}
		var group sync.WaitGroup
		for i := first; i < last; i++ {
			group.Go(func() { results[i] = s.call(ctx, turn, i, calls[i]) })
		}
		group.Wait()
		s.count(results[first:last])
		first = last
	}
	return results
}

// call runs one call of a turn and returns the message with its result.
func (s *Session) call(ctx context.Context, turn, index int, c model.ToolCall) journal.Message {
	out, state := s.record(ctx, turn, index, c)
	state.Input = nil // in the message with the call
	return journal.Message{Turn: turn, Call: &state, Message: model.Message{
		Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: out.Text(), Attachments: attached(out),
		Failed: out.Status != tools.Completed, Denied: out.Status == tools.Denied,
	}}
}

// attached returns the attachments of a result.
func attached(out tools.Outcome) []model.Attachment {
	var all []model.Attachment
	for _, a := range out.Attachments {
		all = append(all, model.Attachment(a))
	}
	return all
}

// nested runs a call that another call of this turn requested. It has its own
// decision and record, and counts like any other.
func (s *Session) nested(ctx context.Context, c tools.Call) tools.Outcome {
	return s.runOwnCall(ctx, s.Turn(), c)
}

// Fetch runs a call that a prompt requests, before [Session.Run] is called with the
// prompt. It is decided, emitted and counted like the model's, in turn 0. Its
// attachments are sent with the prompt.
func (s *Session) Fetch(ctx context.Context, c tools.Call) tools.Outcome {
	s.start()
	s.cfg.Env.Untrusted.Turn = s.Turn()
	out := s.runOwnCall(ctx, 0, c)
	s.fetched = append(s.fetched, attached(out)...)
	return out
}

// runOwnCall runs a call that the model did not make itself.
func (s *Session) runOwnCall(ctx context.Context, turn int, c tools.Call) tools.Outcome {
	call := model.ToolCall(c)
	s.events.pending(turn, call)
	out, _ := s.record(ctx, turn, 0, call)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Calls++
	if out.Status == tools.Denied {
		s.totals.Denied++
	}
	return out
}

// record runs one call, and emits and returns its final state.
func (s *Session) record(ctx context.Context, turn, index int, c model.ToolCall) (out tools.Outcome, record event.Call) {
	record = event.Call{ID: c.ID, Turn: turn, Tool: c.Name, Input: rawInput(c.Input), StartedAt: s.cfg.Now()}
	out = s.dispatch(ctx, index, c, func(title string) {
		running := record
		running.Status, running.Title = event.CallRunning, title
		s.events.call(running)
	})
	if out.Input != "" {
		record.InputGiven, record.Input = record.Input, rawInput(out.Input)
	}
	record.Status, record.Title, record.Error, record.Extension = event.CallStatus(out.Status), out.Title, out.Error, out.Extension
	record.OutputBytes, record.Truncated, record.Cached = out.Bytes, out.Truncated, out.Cached
	record.ElapsedMS = s.cfg.Now().Sub(record.StartedAt).Milliseconds()
	record.Metadata = s.metadata(out)
	if d := out.Decision; d != nil {
		record.Decision = &event.Decision{Effect: d.Effect.String(), Rule: d.Rule, Source: d.Source}
	}
	s.events.call(record)
	if finished := s.cfg.Hooks.Finished; finished != nil {
		finished(ctx, record, out.Text())
	}
	return out, record
}

// metadata returns the metadata of a result for its record, nil if it has none. Saved
// outputs are named relative to the report directory, which may be moved.
func (s *Session) metadata(out tools.Outcome) *event.CallMetadata {
	if out.Metadata.IsZero() {
		return nil
	}
	m := event.CallMetadata(out.Metadata)
	if m.OutputPath != "" {
		m.OutputPath = s.cfg.Env.Outputs.Rel(m.OutputPath)
	}
	return &m
}

// dispatch runs a call unless it was truncated, the session has ended, or the turn
// has too many calls.
func (s *Session) dispatch(ctx context.Context, index int, c model.ToolCall, running func(string)) tools.Outcome {
	if c.ID == s.cut {
		return tools.Outcome{Tool: c.Name, Status: tools.Failed, Error: "your response was truncated at its output limit within this call, which was not run: write shorter responses, and write long files in several steps"}
	}
	if ctx.Err() != nil {
		return tools.Outcome{Tool: c.Name, Status: tools.Failed, Error: "tool call interrupted before it started"}
	}
	if index >= maxCalls {
		return tools.Outcome{Tool: c.Name, Status: tools.Failed, Error: "too many calls in one turn: only the first 128 are run"}
	}
	failpoint.Hit(failpoint.CallBefore, c.Name)
	defer failpoint.Hit(failpoint.CallAfter, c.Name)
	return s.cfg.Tools.Dispatch(ctx, s.cfg.Env, tools.Call(c), running)
}

// count updates the counts that limits apply to.
func (s *Session) count(results []journal.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range results {
		s.totals.Calls++
		switch {
		case r.Denied:
			s.totals.Denied++
			s.failures++
		case r.Failed:
			s.failures++
		default:
			s.failures = 0
		}
	}
}

// rawInput returns the arguments of a call for its record: unchanged if they are
// JSON, else as a JSON string.
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
