package money

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// perToken prices input and output, and writing to a cache at a quarter more.
func perToken(in, out float64) Quotes {
	input := USD(in * 1e15)
	return Quotes{{Schedule: Schedule{{Price: Price{Rates: Rates{Input: input, Output: USD(out * 1e15), CacheRead: input, CacheWrite: input * 5 / 4}}}}}}
}

func dollars(f float64) USD {
	usd, _ := FromFloat(f)
	return usd
}

// settle ends a request after one attempt.
func settle(r *Reservation, cost *USD) {
	r.Charge(cost)
	r.Release()
}

// exceeded reports whether a budget can't pay for a request.
func exceeded(err error) bool {
	var e *Exceeded
	return errors.As(err, &e)
}

// A trace is eight jobs, each with two sessions, that spend as much and as fast as
// they can. Whatever they use, up to what was requested, no budget is exceeded,
// except by what providers report above that.
func TestNoBudgetIsExceeded(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		run := NewBudget("run budget", dollars(0.01+rng.Float64()), time.Now, nil)
		price := perToken(rng.Float64()/1e5, rng.Float64()/1e4)
		jobs := make([]*Budget, 8)
		excess := make([]USD, 16)
		var group sync.WaitGroup
		for i := range 16 {
			if i < 8 {
				jobs[i] = run.Child("job budget", dollars(rng.Float64()*0.3)+1) // 0 would be none
			}
			s, rng := jobs[i%8].Session("m", price), rand.New(rand.NewPCG(seed, uint64(i)+2))
			group.Go(func() { excess[i] = spend(t.Context(), s, rng, seed%4 == 0) })
		}
		group.Wait()
		var total, above USD
		for i, b := range jobs {
			over := excess[i] + excess[i+8]
			if b.spent > b.limit+over || b.requests != 0 || b.reserved != 0 {
				t.Fatalf("seed %d: job %d: %s with an excess of %s", seed, i, state(b), over)
			}
			total, above = total+b.spent, above+over
		}
		if run.spent > run.limit+above || run.spent != total || run.requests != 0 || run.reserved != 0 {
			t.Fatalf("seed %d: the run: %s with an excess of %s; the jobs spent %s", seed, state(run), above, total)
		}
	}
}

func state(b *Budget) string {
	return fmt.Sprintf("$%s of $%s spent, $%s reserved by %d requests", b.spent, b.limit, b.reserved, b.requests)
}

// spend makes requests until the budget of a session is exceeded, and returns what
// was charged above what was requested.
func spend(ctx context.Context, b *Budget, rng *rand.Rand, greedy bool) (excess USD) {
	defer b.Release()
	for range 1000 {
		request := Usage{Input: rng.Int64N(20_000), Output: rng.Int64N(30_000)}
		r, err := b.Reserve(ctx, request, Usage{Input: rng.Int64N(2000), Output: 2048})
		if failed := (*LedgerError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return excess
		}
		if r.Output > 0 {
			request.Output = int64(r.Output)
		}
		for rng.IntN(5) == 0 { // attempts that fail
			r.Charge(new(USD(rng.Int64N(int64(b.maxCost(request.Input, int(request.Output))) + 1))))
			if r.Retry(ctx) != nil {
				r.Release()
				return excess
			}
		}
		used := Usage{Input: rng.Int64N(request.Input + 1), Output: rng.Int64N(request.Output + 1)}
		used.CacheWrite = rng.Int64N(used.Input + 1)
		if greedy && rng.IntN(10) == 0 {
			used = Usage{Input: request.Input, Output: request.Output * 2}
		}
		cost := *b.Estimate(used)
		excess += max(cost-b.maxCost(request.Input, int(request.Output)), 0)
		if rng.IntN(20) == 0 {
			settle(r, nil)
		} else {
			settle(r, &cost)
		}
	}
	return excess
}

func TestOutputIsShortenedBeforeARequestIsRefused(t *testing.T) {
	price := perToken(1e-6, 1e-5)
	tests := []struct {
		name             string
		limit            float64
		request, summary Usage
		output           int // of the reservation; -1: refused
	}{
		{"no limit", 0, Usage{Input: 1000, Output: 8000}, Usage{}, 0},
		{"plenty", 10, Usage{Input: 1000, Output: 8000}, Usage{}, 0},
		{"half of what remains", 0.1, Usage{Output: 8000}, Usage{}, 5000},
		{"enough to be useful", 0.05, Usage{Output: 8000}, Usage{}, useful},
		{"less than useful", 0.01, Usage{Output: 8000}, Usage{}, 1000},
		{"too little output", 0.001, Usage{Output: 8000}, Usage{}, -1},
		{"too little for the input", 0.1, Usage{Input: 100_000, Output: 8000}, Usage{}, -1},
		{"money for the summary is reserved", 0.05, Usage{Output: 8000}, Usage{Input: 20_000, Output: 2048}, 452},
		{"an unknown output limit", 10, Usage{Input: 1000}, Usage{}, guess},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBudget("run budget", dollars(tt.limit), time.Now, nil).Child("job budget", 0).Session("m", price)
			r, err := b.Reserve(t.Context(), tt.request, tt.summary)
			output := -1
			if err == nil {
				output = r.Output
			}
			if output != tt.output {
				t.Errorf("%d tokens, %v; want %d", output, err, tt.output)
			}
		})
	}
}

func TestSummaryUsesReservation(t *testing.T) {
	run := NewBudget("run budget", dollars(0.06), time.Now, nil)
	b, other := run.Session("m", perToken(1e-6, 1e-5)), run.Session("m", perToken(1e-6, 1e-5))
	request, summary := Usage{Output: 1000}, Usage{Input: 1000, Output: 2048}
	r, err := b.Reserve(t.Context(), request, summary)
	if err != nil {
		t.Fatal(err)
	}
	settle(r, new(dollars(0.01)))
	for { // another session uses up everything else
		r, err := other.Reserve(t.Context(), request, Usage{})
		if err != nil {
			break
		}
		settle(r, nil)
	}
	if _, err := b.Reserve(t.Context(), request, summary); !exceeded(err) {
		t.Fatalf("more than the summary was paid for: %v", err)
	}
	if r, err = b.Reserve(t.Context(), summary, Usage{}); err != nil {
		t.Fatal(err)
	}
	settle(r, nil)
	if run.spent > run.limit {
		t.Error(state(run))
	}
}

func TestARequestWaitsForReservationsOfOthers(t *testing.T) {
	run := NewBudget("run budget", dollars(0.05), time.Now, nil)
	price := perToken(0, 1e-5)
	first, second := run.Session("m", price), run.Session("m", price)
	request := Usage{Output: 4000}
	r, err := first.Reserve(t.Context(), request, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	_, wait, err := second.try(request, Usage{})
	if wait == nil || err != nil {
		t.Fatalf("it did not wait: %v", err)
	}
	settle(r, new(dollars(0.001)))
	<-wait
	if r, err := second.Reserve(t.Context(), request, Usage{}); err != nil || r.Output != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	if _, err := first.Reserve(ctx, request, Usage{}); !errors.Is(err, cause) {
		t.Errorf("waiting ended with %v", err)
	}
}

func TestUnknownPricesAreCounted(t *testing.T) {
	b := NewBudget("run budget", Dollar, time.Now, nil).Child("job budget", Dollar/2).Session("m", nil)
	for range 2 {
		r, err := b.Reserve(t.Context(), Usage{Input: 1e9}, Usage{})
		if err != nil {
			t.Fatal(err)
		}
		settle(r, new(dollars(0.3)))
	}
	_, err := b.Reserve(t.Context(), Usage{}, Usage{})
	want := &Exceeded{Budget: "job budget", Limit: Dollar / 2}
	if got := (*Exceeded)(nil); !errors.As(err, &got) || *got != *want {
		t.Errorf("%+v", err)
	}
	if want := "job budget exceeded: $0.00 of $0.50 remaining, not enough for another request"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// A failed attempt is charged immediately, and another one is only made if there is
// money for it beside that.
func TestFailedAttemptsAreCharged(t *testing.T) {
	run := NewBudget("run budget", dollars(0.05), time.Now, nil)
	r, err := run.Session("m", perToken(0, 1e-5)).Reserve(t.Context(), Usage{Output: 2000}, Usage{}) // reserves 0.02
	if err != nil {
		t.Fatal(err)
	}
	for i, lost := range []USD{dollars(0.02), dollars(0.01), dollars(0.001)} {
		before := run.spent
		r.Charge(&lost)
		if run.spent != before+lost || run.reserved != dollars(0.02)-lost {
			t.Fatalf("lost %s: %s", lost, state(run))
		}
		if err := r.Retry(t.Context()); exceeded(err) != (i == 2) || err == nil && run.reserved != dollars(0.02) {
			t.Fatalf("lost %s: %v, %s", lost, err, state(run))
		}
	}
	r.Release()
	if run.spent != dollars(0.031) || run.reserved != 0 || run.requests != 0 {
		t.Error(state(run))
	}
}

func TestAttemptOfUnknownCostIsChargedInFull(t *testing.T) {
	run := NewBudget("run budget", dollars(0.05), time.Now, nil)
	r, err := run.Session("m", perToken(0, 1e-5)).Reserve(t.Context(), Usage{Output: 1000}, Usage{}) // reserves 0.01
	if err != nil {
		t.Fatal(err)
	}
	r.Charge(nil)
	if err := r.Retry(t.Context()); err != nil || run.spent != dollars(0.01) || run.reserved != dollars(0.01) {
		t.Errorf("%v, %s", err, state(run))
	}
	unused, err := run.Session("m", perToken(0, 1e-5)).Reserve(t.Context(), Usage{Output: 1000}, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	unused.Release()             // by a model that did not charge it
	r.Charge(new(dollars(0.06))) // more than was requested
	if err := r.Retry(t.Context()); !exceeded(err) || run.spent != dollars(0.08) || run.reserved != 0 {
		t.Errorf("%v, %s", err, state(run))
	}
	r.Release()
}

// With prices unknown nothing is reserved, and with the money spent nothing that
// costs something is repeated.
func TestAttemptsOfUnknownPriceAreRepeatedWhileMoneyRemains(t *testing.T) {
	run := NewBudget("run budget", dollars(0.05), time.Now, nil)
	r, err := run.Session("m", nil).Reserve(t.Context(), Usage{Output: 1000}, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		other, lost float64 // of another session, and of the attempt
		refused     bool
	}{{0, 0.01, false}, {0.04, 0, true}} {
		other, err := run.Session("m", nil).Reserve(t.Context(), Usage{}, Usage{})
		if err != nil {
			t.Fatal(err)
		}
		settle(other, new(dollars(tt.other)))
		r.Charge(new(dollars(tt.lost)))
		if err := r.Retry(t.Context()); exceeded(err) != tt.refused {
			t.Errorf("%+v: %v, %s", tt, err, state(run))
		}
	}
	free, err := NewBudget("run budget", 0, time.Now, nil).Session("m", nil).Reserve(t.Context(), Usage{}, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	free.Charge(new(Dollar))
	if err := free.Retry(t.Context()); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestFreeAttemptIsRetried(t *testing.T) {
	run := NewBudget("run budget", dollars(0.05), time.Now, nil)
	b := run.Session("m", perToken(0, 1e-5))
	r, err := b.Reserve(t.Context(), Usage{Output: 1000}, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := run.Session("m", nil).Reserve(t.Context(), Usage{}, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	settle(other, new(dollars(0.06))) // nothing is left
	r.Charge(new(USD(0)))
	if err := r.Retry(t.Context()); err != nil {
		t.Error(err)
	}
	var none *Reservation
	none.Charge(nil)
	none.Release()
	if none.Retry(t.Context()) != nil {
		t.Error("nothing was reserved, and another attempt is refused")
	}
}

func TestSessionStartRequiresBudgetForFirstRequest(t *testing.T) {
	run := NewBudget("run budget", dollars(0.045), time.Now, nil)
	if err := run.CanStart(t.Context(), "m"); err != nil {
		t.Errorf("nothing is known of the model yet: %v", err)
	}
	b := run.Session("m", perToken(1e-6, 0))
	for _, input := range []int64{20_000, 1000} { // the first request can cost $0.025
		r, err := b.Reserve(t.Context(), Usage{Input: input, Output: 1000}, Usage{})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.CanStart(t.Context(), "m"); err != nil {
			t.Errorf("money that is only reserved: %v", err)
		}
		settle(r, b.Estimate(Usage{Input: input}))
	}
	if err := run.CanStart(t.Context(), "m"); !exceeded(err) || run.CanStart(t.Context(), "another") != nil {
		t.Errorf("%v with %s", err, state(run))
	}
}
