package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

// fragile is a model of which each first attempt fails.
type fragile struct {
	next model.Model
	lost money.Charge
}

func (f fragile) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	req.Reservation.Charge(f.lost.CostUSD)
	if err := req.Reservation.Retry(ctx); err != nil {
		return model.Response{Lost: &f.lost}, err
	}
	resp, err := f.next.Stream(ctx, req, emit)
	resp.Lost = &f.lost
	return resp, err
}

const twoTurns = `
  - calls: [{tool: glob, args: {pattern: "*"}}]
    usage: {input: 10, output: 5}
  - {text: Done., usage: {input: 20, output: 5}}
`

func TestLostUsageIsCharged(t *testing.T) {
	usd := money.Dollar / 4
	lost := money.Charge{Requests: 2, Usage: money.Usage{Input: 100, Output: 7}, CostUSD: &usd, Estimated: true}
	var charged money.USD
	s := setUp(t, "readonly", twoTurns, func(c *Config) {
		priced := model.Priced(c.Model, func(u money.Usage) (money.USD, bool) { return money.USD(u.Input) * money.Dollar, true })
		c.Model = fragile{priced, lost}
		c.Budget = money.NewBudget("job budget", 0, time.Now, func(usd money.USD) { charged = usd })
	})
	if end := s.Run(t.Context(), "look"); !end.Done() {
		t.Fatalf("%+v", end)
	}
	if got := s.Totals(); got.Usage != (money.Usage{Input: 230, Output: 24}) || got.Cost.Least() != 30_500_000_000 || charged != *got.Cost.USD() {
		t.Errorf("totals: %+v, %s, charged %s", got.Usage, got.Cost.Least(), charged)
	}
	for _, e := range s.events {
		if e.Type != event.TurnEnded {
			continue
		}
		if l := e.Turn.Lost; l == nil || l.Requests != 2 || l.Usage.Input != 100 || !l.Estimated || *l.CostUSD != usd {
			t.Errorf("turn %d: lost %+v", e.Turn.Number, l)
		}
	}
	// The conversation is as long as the provider counted it, not as what was lost.
	if got := s.talk.estimate(); got > 60 {
		t.Errorf("the next request is estimated at %d tokens", got)
	}
}

func TestEveryAttemptIsReserved(t *testing.T) {
	usd := money.Dollar / 4
	var charged money.USD
	s := setUp(t, "readonly", twoTurns, func(c *Config) {
		c.Model = fragile{c.Model, money.Charge{Requests: 1, Usage: money.Usage{Input: 3}, CostUSD: &usd}}
		c.Budget = money.NewBudget("run budget", usd, time.Now, func(usd money.USD) { charged = usd })
	})
	end := s.Run(t.Context(), "look")
	if end.Code != event.CodeRunBudget || end.Reason != "run budget exceeded: $0.00 of $0.25 remaining, not enough for another request" || charged != usd {
		t.Errorf("%+v, charged %s", end, charged)
	}
	if got := s.Totals(); got.Usage.Input != 3 || *got.Cost.USD() != usd {
		t.Errorf("totals: %+v", got)
	}
}

func TestFreeFailureIsKnownToBeFree(t *testing.T) {
	s := setUp(t, "readonly", twoTurns, func(c *Config) { c.Model = broken{} })
	if end := s.Run(t.Context(), "look"); end.Code != event.CodeUnavailable {
		t.Fatalf("%+v", end)
	}
	if got := s.Totals(); got.Cost.USD() == nil || got.Cost.Least() != 0 {
		t.Errorf("cost %v", got.Cost)
	}
}

type broken struct{}

func (broken) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	return model.Response{}, model.Fail(model.ClassUnavailable, errors.New("nobody is there"))
}

// cut is a model whose attempts break off after some chunks.
type cut struct{ attempts *int }

func (m cut) Stream(_ context.Context, _ model.Request, emit func(model.Delta)) (model.Response, error) {
	*m.attempts++
	emit(model.Delta{Kind: model.ReasoningDelta, Text: "I think. "})
	emit(model.Delta{Kind: model.TextDelta, Text: fmt.Sprintf("Attempt %d", *m.attempts)})
	emit(model.Delta{Kind: model.CallDelta, Call: fmt.Sprint("c", *m.attempts), Text: "read"})
	return model.Response{}, model.Fail(model.ClassUnavailable, errors.New("connection reset"))
}

// What was received of the last attempt is in the events.
func TestInterruptedResponsesAreReported(t *testing.T) {
	policy := model.DefaultRetryPolicy()
	policy.Retries, policy.Sleep = 2, func(context.Context, time.Duration) error { return nil }
	attempts := 0
	s := setUp(t, "readonly", twoTurns, func(c *Config) {
		retrying := model.Retrying(cut{&attempts}, policy, nil)
		c.Model = model.Fallback([]model.Named{{Name: "a", Model: retrying}, {Name: "b", Model: retrying}}, nil)
	})
	if end := s.Run(t.Context(), "look"); end.Done() || attempts != 6 {
		t.Fatalf("%+v after %d attempts", end, attempts)
	}
	var said []event.Text
	var calls []string
	for _, e := range s.events {
		if e.Call != nil {
			calls = append(calls, fmt.Sprint(e.Call.ID, " ", e.Call.Status))
		}
		if e.Type == event.ModelText {
			said = append(said, *e.Text)
		}
	}
	want := []event.Text{{Turn: 1, Text: "Attempt 6", Reasoning: "I think. ", Interrupted: true}}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := strings.Join(calls, ", "); got != "c1 pending, c2 pending, c3 pending, c4 pending, c5 pending, c6 pending" {
		t.Error(got)
	}
}

// noting is a model that has a note for the user.
type noting struct{ next model.Model }

func (m noting) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	resp, err := m.next.Stream(ctx, req, emit)
	resp.Note = "change a setting"
	return resp, err
}

func TestNotesOfModelsAreWarnings(t *testing.T) {
	s := setUp(t, "readonly", "  - text: Done.\n", func(c *Config) { c.Model = noting{c.Model} })
	s.Run(t.Context(), "look")
	for _, e := range s.events {
		if e.Warning != nil && e.Warning.Message == "script:model.yaml: change a setting" {
			return
		}
	}
	t.Error("no warning")
}
