package session

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/textcut"
)

// turn makes one request and runs the tool calls of its response. It returns nil if
// the conversation continues.
func (s *Session) turn(ctx context.Context) *End {
	if called, end := s.makeRoom(ctx); called || end != nil {
		return end // that was a turn of its own: limits are checked again first
	}
	req, n := s.request()
	resp, finish, end := s.ask(ctx, req, n)
	if end != nil {
		return s.refused(ctx, end)
	}
	s.tooLong = false
	defer finish()
	if resp.Finish == model.FinishFilter {
		resp.Calls = nil // may be incomplete, and would have no results
	}
	s.join(resp)
	switch {
	case resp.Finish == model.FinishFilter:
		return &End{Code: event.CodeFailed, Reason: "the provider's content filter stopped the model", Text: resp.Text}
	case len(resp.Calls) == 0:
		return s.completed(resp)
	}
	s.cut, s.final.text, s.final.truncated = truncatedCall(resp), "", 0
	results := s.runCalls(ctx, s.Totals().Turns, resp.Calls)
	hint, end := s.repeated(resp.Calls, results)
	results[len(results)-1].Text += hint
	for _, m := range results {
		s.add(m)
	}
	if ctx.Err() != nil {
		return Ended(ctx)
	}
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
func (s *Session) request() (model.Request, need) {
	c := s.cfg
	req := model.Request{
		Sampling: c.Sampling, System: c.System, Messages: s.messages, Tools: s.specs, Output: c.Schema, CacheKey: c.ID,
	}
	input, output := s.estimate(), cmp.Or(c.Sampling.MaxOutput, c.MaxOutput)
	if room := max(c.Window-int(input), minOutputLimit); c.Window > 0 && output > room {
		output, req.MaxOutput = room, room
	}
	n := need{request: money.Usage{Input: input, Output: int64(output)}}
	if c.FinalSummary && s.Totals().Turns > 0 {
		n.summary = s.finalUsage()
	}
	return req, n
}

// ask makes one request: it reserves money, emits the turn, and counts usage and
// cost. Unless there is an End, the caller calls finish after the tool calls of the
// turn.
func (s *Session) ask(ctx context.Context, req model.Request, n need) (resp model.Response, finish func(), end *End) {
	reservation, end := s.reserve(ctx, n)
	if end != nil {
		return resp, nil, end
	}
	defer reservation.Release()
	if req.Reservation = reservation; reservation.Output > 0 {
		req.MaxOutput = reservation.Output
	}
	s.mu.Lock()
	s.totals.Turns++
	turn := s.totals.Turns
	s.mu.Unlock()
	s.emit(event.Event{Type: event.TurnStarted, Turn: &event.Turn{Number: turn}})
	began := s.cfg.Now()
	s.received = received{}
	resp, err := s.cfg.Model.Stream(ctx, req, s.delta)
	ended := &event.Turn{Number: turn, ElapsedMS: s.cfg.Now().Sub(began).Milliseconds()}
	if err != nil {
		resp.Usage, resp.CostUSD, ended.Error = &money.Usage{}, new(money.USD), err.Error()
	}
	s.account(resp, ended)
	if err != nil {
		if text := (event.Text{Turn: turn, Text: s.received.text.String(), Reasoning: s.received.reasoning.String(), Interrupted: true}); text.Text != "" || text.Reasoning != "" {
			s.emit(event.Event{Type: event.ModelText, Text: &text})
		}
		s.emit(event.Event{Type: event.TurnEnded, Turn: ended})
		return resp, nil, requestFailed(ctx, err)
	}
	if resp.Note != "" {
		s.emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: textcut.OneLine(s.cfg.ModelName) + ": " + resp.Note}})
	}
	if resp.Text != "" || resp.Reasoning != "" {
		s.emit(event.Event{Type: event.ModelText, Text: &event.Text{Turn: turn, Text: resp.Text, Reasoning: resp.Reasoning}})
	}
	return resp, func() { s.emit(event.Event{Type: event.TurnEnded, Turn: ended}) }, nil
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
	if used != nil {
		s.totals.Usage = s.totals.Usage.Add(*used)
	}
	s.totals.CostUSD = money.Sum(s.totals.CostUSD, cost)
}

// join adds a response to the conversation unless it is empty: providers reject
// empty messages.
func (s *Session) join(resp model.Response) {
	if resp.Text == "" && len(resp.Calls) == 0 && resp.State == nil {
		return
	}
	s.add(model.Message{Role: model.Assistant, Text: resp.Text, Reasoning: resp.Reasoning, Calls: resp.Calls, State: resp.State})
	if u := resp.Usage; u != nil && u.Input > 0 {
		s.counted, s.countedTo = u.Input+u.Output, len(s.messages)
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
