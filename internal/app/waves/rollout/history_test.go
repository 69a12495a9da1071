package rollout

import (
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// What earlier runs have cost bounds what a fleet can cost, so that a turn with an unknown cost counts as much as was reserved for it.
func TestTurnsWithAnUnknownCostHaveCostWhatWasReserved(t *testing.T) {
	one, five := money.Dollar, 5*money.Dollar
	start := func(number int) event.Event {
		return event.Event{Type: event.TurnStarted, Job: "a", Session: "r/a", Turn: &event.Turn{Number: number, Reserved: &five}}
	}
	end := func(number int, cost *money.USD) event.Event {
		return event.Event{Type: event.TurnEnded, Job: "a", Session: "r/a", Turn: &event.Turn{Number: number, CostUSD: cost}}
	}
	ended := func(cost *money.USD) event.Event {
		return event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Passed, CostUSD: cost}}
	}
	three := 3 * money.Dollar
	for name, c := range map[string]struct {
		events []event.Event
		want   money.USD
	}{
		"a turn":                        {[]event.Event{start(1), end(1, &one)}, money.Dollar},
		"killed in a turn":              {[]event.Event{start(1), end(1, &one), start(2)}, 6 * money.Dollar},
		"a turn with an unknown cost":   {[]event.Event{start(1), end(1, nil), start(2), end(2, &one)}, 6 * money.Dollar},
		"the end has more, of a review": {[]event.Event{start(1), end(1, &one), ended(&three)}, 3 * money.Dollar},
		"the end is unknown":            {[]event.Event{start(1), end(1, &one), ended(nil)}, money.Dollar},
	} {
		h := &History{}
		r := h.Add()
		for _, e := range c.events {
			if err := r.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if h.spent != c.want {
			t.Errorf("%s: spent $%s, want $%s", name, h.spent, c.want)
		}
	}
}
