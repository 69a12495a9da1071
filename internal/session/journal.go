package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
)

// describe describes a session for its journal.
func describe(c Config, offered []model.ToolSpec) journal.Session {
	described := journal.Session{ID: c.ID, Job: c.Job, Agent: c.Agent, Parent: c.Parent, Model: c.ModelName, System: c.System}
	for _, t := range offered {
		described.Tools = append(described.Tools, t.Name)
	}
	return described
}

// counter counts the messages of a session.
type counter int

// next returns the id of the next message.
func (c *counter) next() string {
	*c++
	return fmt.Sprintf("m%d", *c)
}

// rewrote journals the messages that differ from what they were, which are as many.
func rewrote(to *journal.Writer, before, messages []model.Message) {
	for i, m := range messages {
		if m.Text != before[i].Text || len(m.Attachments) != len(before[i].Attachments) {
			to.Message(journal.Message{ID: m.ID, Message: m})
		}
	}
}

// checkpoints saves the workspace between turns.
type checkpoints struct {
	unsaved bool // the workspace may differ from the last checkpoint
}

// endTurn journals the end of a turn, with the state of the workspace if the calls could
// have changed it. That is saved before the next request is sent: whenever the process is killed, a resumed session
// repeats the calls of a turn or continues after it, and no response was received meanwhile. A turn that is incomplete because its state could not be
// saved is not journaled: a resumed session repeats it.
func (p *checkpoints) endTurn(ctx context.Context, c Config, ended journal.Turn, calls []model.ToolCall) {
	changes := func(call model.ToolCall) bool { return !c.Tools.ReadOnly(call.Name) }
	if p.unsaved = p.unsaved || slices.ContainsFunc(calls, changes); p.unsaved && c.Checkpoint != nil {
		complete := false
		if ended.Tree, complete = c.Checkpoint(context.WithoutCancel(ctx)); !complete {
			return
		}
		p.unsaved = ended.Tree == ""
	}
	c.Journal.Turn(ended)
}

// resumed is a response that an earlier process received and did not complete.
type resumed struct {
	response model.Response
	ended    event.Turn
	emitted  bool // the end of its turn, whose calls are repeated
}

// Resume restores the conversation of an earlier process: its state after
// [journal.State.Resume], the sums, and the last turn that they include. It is called
// before Run, and followed by Continue unless there is another prompt.
func (s *Session) Resume(state *journal.State, totals event.Totals, ended int) {
	for _, m := range state.Messages {
		m.Message.ID = m.ID
		s.talk.messages = append(s.talk.messages, m.Message)
	}
	for _, e := range state.History {
		if e.Message != nil || e.Compaction != nil {
			s.talk.ids++ // those that were dropped keep their ids
		}
	}
	s.talk.recount()
	s.totals = totals
	for _, m := range slices.Backward(s.talk.messages) {
		if m.Role != model.ToolRole || !m.Failed {
			break
		}
		s.failures++
	}
	if len(state.Messages) == 0 {
		return
	}
	last := state.Messages[len(state.Messages)-1]
	s.cfg.Journal.Resume(journal.Resume{After: last.ID})
	if last.Response == nil {
		return
	}
	s.resumed = &resumed{ended: *last.Response, emitted: last.Response.Number <= ended, response: model.Response{
		Text: last.Text, Reasoning: last.Reasoning, Calls: last.Calls, State: last.State, Finish: model.Finish(last.Response.Finish),
	}}
	s.totals.Turns = max(s.totals.Turns, last.Response.Number-s.cfg.FirstTurn)
	if last.Response.Number > ended {
		s.totals.Add(last.Response.Usage, last.Response.CostUSD)
	}
}

// interrupted returns results for the calls of a turn that another prompt ends: they were
// interrupted with the earlier process.
func (r *resumed) interrupted() (results []journal.Message) {
	if r == nil {
		return nil
	}
	for _, c := range r.response.Calls {
		results = append(results, journal.Message{Turn: r.ended.Number, Message: model.Message{
			Role: model.ToolRole, CallID: c.ID, Tool: c.Name, Text: "tool call interrupted", Failed: true,
		}})
	}
	return results
}
