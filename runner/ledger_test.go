package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// account is a ledger in which other processes have spent something.
type account struct {
	others money.USD
	err    error // of Reserve
	last   error // of Settle
	own    money.Sums
}

func (a *account) Others(context.Context) (money.Sums, error) {
	return money.Sums{Spent: a.others}, nil
}

func (a *account) Reserve(_ context.Context, own money.Sums, limit money.USD) (bool, error) {
	if a.err != nil {
		return false, a.err
	}
	a.own = own
	return a.others+own.Money() <= limit, nil
}

func (a *account) Settle(_ context.Context, own money.Sums) error {
	a.own = own
	return a.last
}

func (a *account) Changed() <-chan struct{} { return nil }

func TestProcessesShareTheRunsBudget(t *testing.T) {
	tests := []struct {
		name   string
		ledger account
		spent  money.USD
		ends   string
		reason string
	}{
		{"nothing was spent elsewhere", account{}, 10 * money.Dollar, "budget 5", "run budget exceeded: $0.00 of $10.00"},
		{"some was", account{others: 7 * money.Dollar}, 3 * money.Dollar, "budget 5", "run budget exceeded: $0.00 of $10.00"},
		{"all of it was", account{others: 10 * money.Dollar}, 0, "skipped 5", "run budget exceeded: $0.00 of $10.00"},
		{"the ledger fails", account{err: errors.New("no connection")}, 0, "error 70", "ledger of the budget: no connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Equipment.OpenModel = costsADollar(t)
			var reported money.USD
			s.opts.Costs = Costs{Ledger: &tt.ledger, Spent: func(usd money.USD) { reported = usd }}
			s.run(t.Context(), &tasks.Plan{Budget: tasks.Budget{CostUSD: 10 * money.Dollar}, Jobs: []tasks.Job{s.job("a")}})
			if got := s.ends()["a"]; got != tt.ends || !strings.Contains(s.reason("a"), tt.reason) {
				t.Errorf("got %s: %s", got, s.reason("a"))
			}
			if tt.ledger.own != (money.Sums{Spent: tt.spent}) || reported != tt.spent {
				t.Errorf("the ledger has %+v, and $%s were reported; want $%s", tt.ledger.own, reported, tt.spent)
			}
		})
	}
}

// costsADollar opens a model whose requests cost one dollar each.
func costsADollar(t *testing.T) func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
	t.Helper()
	var turns strings.Builder
	for i := range 20 {
		fmt.Fprintf(&turns, "  - {calls: [{tool: glob, args: {pattern: x%d}}], usage: {input: 10, output: 1}}\n", i)
	}
	open := plays(t, turns.String())
	return func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		c, err := open(j, child, on)
		c.Model = model.Priced(c.Model, func(money.Usage) (money.USD, bool) { return money.Dollar, true })
		c.Quotes = money.Quotes{{Schedule: money.Schedule{{Price: money.Price{Rates: money.Rates{Input: 1}}}}, Surcharge: &money.Surcharge{}}}
		c.Quotes[0].Surcharge.Raise(100 * int64(money.Dollar)) // on a nano-dollar for each request
		return c, err
	}
}

// A cost that other processes can't see is a warning: they can spend less than is left.
func TestACostThatTheLedgerLacksIsAWarning(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	s.opts.Costs.Ledger = &account{last: errors.New("no connection")}
	exit := s.run(t.Context(), &tasks.Plan{Budget: tasks.Budget{CostUSD: money.Dollar}, Jobs: []tasks.Job{s.job("a")}})
	if exit != event.ExitOK || !strings.HasPrefix(s.warnings(), "the cost of the run is not in the ledger of its budget, where too much remains reserved: ") || !strings.HasSuffix(s.warnings(), "no connection") {
		t.Errorf("exit %d: %s; warnings %s", exit, s.reason("a"), s.warnings())
	}
}

// The ledger has the cost of earlier processes of a resumed run.
func TestPastCostIsNotCountedTwice(t *testing.T) {
	for _, ledger := range []money.Ledger{nil, &account{}} {
		s := setUp(t)
		cost := money.Dollar
		s.opts.History = history.Run{Past: &history.Past{}}
		s.opts.History.Past.Emit(event.Event{Type: event.TurnEnded, Job: "a", Session: "main", Turn: &event.Turn{Number: 1, CostUSD: &cost}})
		var reported money.USD
		s.opts.Costs = Costs{Ledger: ledger, Spent: func(usd money.USD) { reported = usd }}
		newRun(&tasks.Plan{}, s.opts)
		if (reported == 0) != (ledger != nil) {
			t.Errorf("with the ledger %v the run starts with $%s", ledger, reported)
		}
	}
}
