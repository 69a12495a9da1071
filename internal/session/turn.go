package session

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// turn makes one model call and carries out the calls it asks for. It returns
// nil if the conversation goes on.
func (s *Session) turn(ctx context.Context) *End {
	if called, end := s.makeRoom(ctx); called || end != nil {
		return end // that was a turn of its own: limits come first again
	}
	req, n := s.request()
	resp, over, end := s.ask(ctx, req, n)
	if end != nil {
		return s.refused(ctx, end)
	}
	s.tooLong = false
	defer over()
	if resp.Finish == model.FinishFilter {
		resp.Calls = nil // may be incomplete, and would stay unanswered
	}
	s.join(resp)
	switch {
	case resp.Finish == model.FinishFilter:
		return &End{Kind: GaveUp, Reason: "the provider's content filter stopped the model", Text: resp.Text}
	case len(resp.Calls) == 0:
		return s.answered(resp)
	}
	s.cut, s.answer.said, s.answer.cuts = cutOff(resp), "", 0
	hint, end := s.repeats.turn(resp.Calls)
	answers := s.carryOut(ctx, s.Totals().Turns, resp.Calls)
	answers[len(answers)-1].Text += hint
	for _, m := range answers {
		s.add(m)
	}
	if ctx.Err() != nil {
		return Ended(ctx)
	}
	return end
}

// need is the most that a request can use up.
type need struct {
	request money.Usage // an output of 0 is unknown
	summary money.Usage // of the last words, for which money is reserved until the next request
	last    bool        // these are the last words
}

// request is the next one of the conversation, and what it can use up. What it
// begins with is that of the request before, so that providers find it in their
// caches.
func (s *Session) request() (model.Request, need) {
	c := s.cfg
	req := model.Request{
		System: c.System, Messages: s.messages, Tools: s.specs, Output: c.Schema, CacheKey: c.ID,
		Effort: c.Sampling.Effort, Temperature: c.Sampling.Temperature, MaxOutput: c.Sampling.MaxOutput,
	}
	input, output := s.estimate(), cmp.Or(c.Sampling.MaxOutput, c.MostOutput)
	if room := max(c.Window-int(input), leastRoom); c.Window > 0 && output > room {
		output, req.MaxOutput = room, room
	}
	n := need{request: money.Usage{Input: input, Output: int64(output)}}
	if c.WrapUp && s.Totals().Turns > 0 {
		n.summary = s.words()
	}
	return req, n
}

// ask makes one model call: paid for, told, and counted. The caller calls over
// when everything that belongs to the turn is done, unless there is an End.
func (s *Session) ask(ctx context.Context, req model.Request, n need) (resp model.Response, over func(), end *End) {
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
	resp, err := s.cfg.Model.Stream(ctx, req, s.delta)
	ended := &event.Turn{Number: turn, ElapsedMS: s.cfg.Now().Sub(began).Milliseconds()}
	if err != nil {
		resp.Usage, resp.CostUSD, ended.Error = &money.Usage{}, new(money.USD), err.Error()
	}
	s.account(resp, ended)
	if err != nil {
		s.emit(event.Event{Type: event.TurnEnded, Turn: ended})
		return resp, nil, requestFailed(ctx, err)
	}
	if resp.Text != "" || resp.Reasoning != "" {
		s.emit(event.Event{Type: event.TextSaid, Text: &event.Text{Turn: turn, Text: resp.Text, Reasoning: resp.Reasoning}})
	}
	return resp, func() { s.emit(event.Event{Type: event.TurnEnded, Turn: ended}) }, nil
}

// reserve checks the limits of the job and reserves what a request can cost.
func (s *Session) reserve(ctx context.Context, n need) (*money.Reservation, *End) {
	if s.cfg.JobLimits != nil {
		if end := s.cfg.JobLimits(n.last); end != nil {
			end.summable = ctx.Err() == nil && end.Kind == Limited
			return nil, end
		}
	}
	reservation, err := s.cfg.Budget.Reserve(ctx, n.request, n.summary)
	if err != nil {
		return nil, requestFailed(ctx, err)
	}
	return reservation, nil
}

// account adds a response to the totals and to its turn's event, with what was
// lost on the way to it.
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
	ended.Finish, ended.Usage, ended.CostUSD = string(resp.Finish), used, cost
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

// join adds a response to the conversation. One that holds nothing stays out:
// providers refuse to see it again.
func (s *Session) join(resp model.Response) {
	if resp.Text == "" && len(resp.Calls) == 0 && resp.State == nil {
		return
	}
	s.add(model.Message{Role: model.Assistant, Text: resp.Text, Reasoning: resp.Reasoning, Calls: resp.Calls, State: resp.State})
	if u := resp.Usage; u != nil && u.Input > 0 {
		s.counted, s.countedTo = u.Input+u.Output, len(s.messages)
	}
}

// cutOff returns the id of the call within which the output limit was reached,
// "" if there is none: the last one, unless it is whole.
func cutOff(resp model.Response) string {
	last := resp.Calls[len(resp.Calls)-1]
	if resp.Finish != model.FinishLength || json.Valid([]byte(strings.TrimSpace(last.Input))) {
		return ""
	}
	return last.ID
}
