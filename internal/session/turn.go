package session

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/text/textcut"
)

// turn makes one request and runs the tool calls of its response. It returns nil if
// the conversation continues.
func (s *Session) turn(ctx context.Context) *End {
	if r := s.resumed; r != nil {
		s.resumed = nil
		if !r.emitted {
			defer s.events.turnEnded(&r.ended)
		}
		return s.handle(ctx, r.response, r.ended.Number)
	}
	refreshed := s.cfg.Hooks.Tools != nil && s.cfg.Tools.Follow(s.cfg.Hooks.Tools(ctx))
	if refreshed {
		s.head.specs = offered(s.cfg)
	}
	if s.cfg.Hooks.start(ctx, s, refreshed) || refreshed {
		s.talk.startWith(s.head)
	}
	if called, end := s.makeRoom(ctx); called || end != nil {
		return end // that was a turn of its own: limits are checked again first
	}
	req, n := s.request(ctx)
	resp, ended, end := s.ask(ctx, req, n)
	if end != nil {
		return s.refused(ctx, end)
	}
	s.tooLong = false
	defer s.events.turnEnded(&ended)
	if resp.Finish == model.FinishFilter {
		resp.Calls = nil // may be incomplete, and would have no results
	}
	s.join(resp, ended)
	return s.handle(ctx, resp, ended.Number)
}

// handle runs the calls of a response, or checks it if it has none. It returns nil if the
// conversation continues.
func (s *Session) handle(ctx context.Context, resp model.Response, turn int) *End {
	switch {
	case resp.Finish == model.FinishFilter:
		return &End{Code: event.CodeFailed, Reason: "the provider's content filter stopped the model", Text: resp.Text}
	case len(resp.Calls) == 0:
		s.turns.endTurn(ctx, s.cfg, journal.Turn{Number: turn, After: s.talk.messages[len(s.talk.messages)-1].ID}, nil)
		return s.completed(resp)
	}
	s.cut, s.final.text, s.final.truncated = truncatedCall(resp), "", 0
	results := s.runCalls(ctx, turn, resp.Calls)
	if ctx.Err() != nil { // the results are of an interruption: a resumed session repeats the calls
		return Ended(ctx)
	}
	messages := make([]model.Message, len(results))
	for i, r := range results {
		messages[i] = r.Message
	}
	hint, end := s.repeated(resp.Calls, messages)
	results[len(results)-1].Text += hint
	for _, r := range results {
		s.talk.add(r)
	}
	s.turns.endTurn(ctx, s.cfg, journal.Turn{Number: turn, After: s.talk.messages[len(s.talk.messages)-1].ID}, resp.Calls)
	return end
}

// need is the most that a request can use.
type need struct {
	request money.Usage // an output of 0 is unknown
	summary money.Usage // of a final summary, for which money is reserved until the next request
	final   bool        // the request is for the final summary
}

// request returns the next request of the conversation, and the most that it can
// use. It has the previous request as its prefix, which providers cache.
func (s *Session) request(ctx context.Context) (model.Request, need) {
	c := s.cfg
	req := model.Request{
		Sampling: c.Sampling, System: s.head.system, Messages: s.talk.messages, Tools: s.head.specs, Output: c.Schema, CacheKey: c.ID,
	}
	input, output := s.talk.estimate(), cmp.Or(c.Sampling.MaxOutput, c.MaxOutput)
	if c.Hooks.Messages != nil {
		req.Messages = c.Hooks.Messages(ctx, s.talk.messages)
		if s.head.sent.record(c.Journal, s.Turn()+1, s.talk.messages, req.Messages) {
			input = s.talk.fixed + tokensOf(req.Messages)
		}
	}
	if room := max(c.Window-int(input), minOutputLimit); c.Window > 0 && output > room {
		output, req.MaxOutput = room, room
	}
	n := need{request: money.Usage{Input: input, Output: int64(output)}}
	if c.FinalSummary && s.Totals().Turns > 0 {
		n.summary = s.talk.finalUsage()
	}
	return req, n
}

// ask makes one request: it reserves money, emits the turn, and counts usage and
// cost. Unless there is an End, the caller finishes the turn with ended after its tool
// calls.
func (s *Session) ask(ctx context.Context, req model.Request, n need) (resp model.Response, ended event.Turn, end *End) {
	req, n = s.cfg.Hooks.request(ctx, req, n)
	reservation, end := s.reserve(ctx, n)
	if end != nil {
		return resp, ended, end
	}
	defer reservation.Release()
	if req.Reservation = reservation; reservation.Output > 0 {
		req.MaxOutput = reservation.Output
	}
	s.mu.Lock()
	s.totals.Turns++
	s.mu.Unlock()
	turn := s.Turn()
	s.events.emit(event.Event{Type: event.TurnStarted, Turn: &event.Turn{Number: turn, Request: asked(s.cfg.Budget, n.request), Reserved: reservation.Amount()}})
	began := s.cfg.Now()
	s.received = received{}
	failpoint.Hit(failpoint.RequestBefore, "")
	resp, err := s.cfg.Model.Stream(ctx, s.head.door.request(req, s.events.emit), s.delta)
	failpoint.Hit(failpoint.RequestAfter, "")
	ended = event.Turn{Number: turn, ElapsedMS: s.cfg.Now().Sub(began).Milliseconds()}
	if err != nil {
		resp.Usage, resp.CostUSD, ended.Error = &money.Usage{}, new(money.USD), err.Error()
	}
	s.account(resp, &ended)
	if err != nil {
		s.events.text(event.Text{Turn: turn, Text: s.received.text.String(), Reasoning: s.received.reasoning.String(), Interrupted: true})
		s.events.turnEnded(&ended)
		return resp, ended, requestFailed(ctx, err)
	}
	if resp.Note != "" {
		s.events.warn(textcut.OneLine(s.cfg.ModelName) + ": " + resp.Note)
	}
	s.events.text(event.Text{Turn: turn, Text: resp.Text, Reasoning: resp.Reasoning})
	return resp, ended, nil
}

// asked describes a request for the case that the process is killed before the response.
func asked(b *money.Budget, u money.Usage) *money.Charge {
	u = money.Usage{Input: u.Input}
	return &money.Charge{Requests: 1, Usage: u, CostUSD: b.Estimate(u), Estimated: true}
}

// reserve checks the limits of the job and reserves what a request can cost.
func (s *Session) reserve(ctx context.Context, n need) (*money.Reservation, *End) {
	if s.cfg.JobLimits != nil {
		if end := s.cfg.JobLimits(n.final); end != nil {
			return nil, end
		}
	}
	reservation, err := s.cfg.Budget.Reserve(ctx, n.request, n.summary)
	if err != nil {
		return nil, requestFailed(ctx, err)
	}
	return reservation, nil
}

// account adds the usage and cost of a response, and of the failed attempts before
// it, to the totals and to the event of its turn.
func (s *Session) account(resp model.Response, ended *event.Turn) {
	used, cost := resp.Usage, resp.CostUSD
	if l := resp.Lost; l != nil {
		ended.Lost = l
		sum := l.Usage
		if used != nil {
			sum = sum.Add(*used)
		}
		used, cost = &sum, money.Sum(cost, l.CostUSD)
	}
	ended.Finish, ended.Usage, ended.CostUSD, ended.ModelServed = string(resp.Finish), used, cost, resp.Served
	if resp.Model != s.cfg.ModelName {
		ended.Model = resp.Model
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Add(used, cost)
}

// join adds a response to the conversation unless it is empty: providers reject
// empty messages.
func (s *Session) join(resp model.Response, ended event.Turn) {
	if resp.Text == "" && len(resp.Calls) == 0 && resp.State == nil {
		return
	}
	s.talk.add(journal.Message{
		Turn: ended.Number, Response: &ended,
		Message: model.Message{Role: model.Assistant, Text: resp.Text, Reasoning: resp.Reasoning, Calls: resp.Calls, State: resp.State},
	})
	if u := resp.Usage; u != nil && u.Input > 0 {
		s.talk.counted, s.talk.countedTo = u.Input+u.Output, len(s.talk.messages)
	}
}

// truncatedCall returns the id of the call that was truncated at the output limit,
// "" for none: the last one, unless its input is valid JSON.
func truncatedCall(resp model.Response) string {
	last := resp.Calls[len(resp.Calls)-1]
	if resp.Finish != model.FinishLength || json.Valid([]byte(strings.TrimSpace(last.Input))) {
		return ""
	}
	return last.ID
}
