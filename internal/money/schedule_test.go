package money

import (
	"testing"
	"time"
)

// Whichever model serves a request, at whichever hour of the day, it costs no more than its quotes.
func TestARequestCostsAtMostItsQuotes(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	price := func(input USD) Price { return Price{Rates: Rates{Input: input}} }
	hourly := Schedule{{Price: price(2)}, {From: "2026-11-22", Price: price(9)}, {Start: "22:00", End: "04:00", Price: price(4)}}
	raised := &Surcharge{}
	raised.Raise(250)
	raised.Raise(50)
	for _, tt := range []struct {
		quotes Quotes
		want   USD
	}{
		{nil, 0},
		{Quotes{{Schedule: hourly}}, 4},
		{Quotes{{Schedule: hourly}, {Schedule: Schedule{{Price: price(5)}}}}, 5},
		{Quotes{{Schedule: hourly, Surcharge: &Surcharge{}}}, 4},
		{Quotes{{Schedule: hourly, Surcharge: raised}, {Schedule: Schedule{{Price: price(5)}}}}, 10},
	} {
		if got := tt.quotes.Most(Usage{Input: 1_000_000}, at); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.quotes, got, tt.want)
		}
	}
}
