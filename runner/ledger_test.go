package runner

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/session"
)

// perToken prices input and output, and writing to a cache at a quarter more.
func perToken(in, out float64) func(money.Usage) money.USD {
	input := money.USD(in * 1e15)
	return money.Price{Input: input, Output: money.USD(out * 1e15), CacheRead: input, CacheWrite: input * 5 / 4}.Cost
}

func dollars(f float64) money.USD {
	usd, _ := money.FromFloat(f)
	return usd
}

// A trace is eight jobs, each with two sessions, that spend what they may as
// fast as they can. Whatever they use, up to what was asked for, no account is
// overdrawn; what providers report above that is all that comes on top.
func TestSpendingNeverExceedsACap(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := newLedger(dollars(0.01+rng.Float64()), nil)
		price := perToken(rng.Float64()/1e5, rng.Float64()/1e4)
		accounts := make([]*account, 8)
		excess := make([]money.USD, 16)
		var group sync.WaitGroup
		for i := range 16 {
			if i < 8 {
				accounts[i] = &account{what: "the job's limit", cap: dollars(rng.Float64()*0.3) + 1} // 0 would be none
			}
			p, rng := l.purse(accounts[i%8], "m", price), rand.New(rand.NewPCG(seed, uint64(i)+2))
			group.Go(func() { excess[i] = spend(t.Context(), p, rng, seed%4 == 0) })
		}
		group.Wait()
		var total, above money.USD
		for i, a := range accounts {
			over := excess[i] + excess[i+8]
			if a.usd > a.cap+over || a.calls != 0 || a.held != 0 {
				t.Fatalf("seed %d: job %d: %+v with an excess of %s", seed, i, *a, over)
			}
			total, above = total+a.usd, above+over
		}
		if r := l.run; r.usd > r.cap+above || r.usd != total || r.calls != 0 {
			t.Fatalf("seed %d: the run: %+v with an excess of %s; the jobs spent %s", seed, r, above, total)
		}
	}
}

// spend makes calls until the purse is empty, and returns what was charged
// above what was asked for.
func spend(ctx context.Context, p *purse, rng *rand.Rand, greedy bool) (excess money.USD) {
	defer p.release()
	for range 1000 {
		need := session.Need{Input: rng.Int64N(20_000), Output: rng.IntN(30_000), Words: rng.Int64N(2000)}
		grant, end := p.reserve(ctx, need)
		if end != nil {
			return excess
		}
		most := grant.Output
		if most == 0 {
			most = need.Output
		}
		lost := money.USD(0)
		for rng.IntN(5) == 0 { // attempts that break off
			lost += money.USD(rng.Int64N(int64(p.most(need.Input, most)) + 1))
			if end = grant.Again(&lost); end != nil {
				break
			}
		}
		if end != nil {
			grant.Settle(&lost)
			return excess
		}
		used := money.Usage{Input: rng.Int64N(need.Input + 1), Output: rng.Int64N(int64(most) + 1)}
		used.CacheWrite = rng.Int64N(used.Input + 1)
		if greedy && rng.IntN(10) == 0 {
			used.Output, used.Input, used.CacheWrite = int64(most)*2, need.Input, 0
		}
		cost := p.price(used)
		excess += max(cost-p.most(need.Input, most), 0)
		cost += lost
		if rng.IntN(20) == 0 {
			grant.Settle(nil)
		} else {
			grant.Settle(&cost)
		}
	}
	return excess
}

func TestAnAnswerIsShortenedBeforeACallIsRefused(t *testing.T) {
	price := perToken(1e-6, 1e-5)
	tests := []struct {
		name   string
		cap    float64
		need   session.Need
		output int // of the grant; -1: refused
	}{
		{"no cap", 0, session.Need{Input: 1000, Output: 8000}, 0},
		{"plenty", 10, session.Need{Input: 1000, Output: 8000}, 0},
		{"half of what is left", 0.1, session.Need{Input: 0, Output: 8000}, 5000},
		{"enough for a useful answer", 0.05, session.Need{Input: 0, Output: 8000}, useful},
		{"less than useful", 0.01, session.Need{Input: 0, Output: 8000}, 1000},
		{"less than worth it", 0.001, session.Need{Input: 0, Output: 8000}, -1},
		{"too little for the input", 0.1, session.Need{Input: 100_000, Output: 8000}, -1},
		{"last words are kept for", 0.05, session.Need{Input: 0, Output: 8000, Words: 20_000}, 452},
		{"a limit that nobody knows", 10, session.Need{Input: 1000}, guess},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newLedger(dollars(tt.cap), nil).purse(&account{}, "m", price)
			grant, end := p.reserve(t.Context(), tt.need)
			if end != nil {
				grant.Output = -1
			}
			if grant.Output != tt.output {
				t.Errorf("%d tokens, %+v; want %d", grant.Output, end, tt.output)
			}
		})
	}
}

func TestLastWordsArePaidForFromWhatWasKept(t *testing.T) {
	l := newLedger(dollars(0.06), nil)
	p, other := l.purse(&account{}, "m", perToken(1e-6, 1e-5)), l.purse(&account{}, "m", perToken(1e-6, 1e-5))
	grant, end := p.reserve(t.Context(), session.Need{Output: 1000, Words: 1000})
	if end != nil {
		t.Fatal(end.Reason)
	}
	cost := dollars(0.01)
	grant.Settle(&cost)
	for { // another session takes everything that it can get
		grant, end := other.reserve(t.Context(), session.Need{Output: 1000})
		if end != nil {
			break
		}
		grant.Settle(nil)
	}
	if _, end := p.reserve(t.Context(), session.Need{Output: 1000, Words: 1000}); end == nil {
		t.Fatal("there was more than what was kept")
	}
	if grant, end = p.reserve(t.Context(), session.Need{Input: 1000, Output: session.WordsOutput, Last: true}); end != nil {
		t.Fatal(end.Reason)
	}
	grant.Settle(nil)
	if l.run.usd > l.run.cap {
		t.Errorf("%s of %s", l.run.usd, l.run.cap)
	}
}

// A call waits while another one holds the money, and gets what that leaves.
func TestACallWaitsForWhatOthersHold(t *testing.T) {
	l := newLedger(dollars(0.05), nil)
	price := perToken(0, 1e-5)
	first, second := l.purse(&account{}, "m", price), l.purse(&account{}, "m", price)
	held, _ := first.reserve(t.Context(), session.Need{Output: 4000})
	_, freed, end := second.try(session.Need{Output: 4000})
	if freed == nil || end != nil {
		t.Fatalf("it did not wait: %+v", end)
	}
	cost := dollars(0.001)
	held.Settle(&cost)
	<-freed
	if grant, end := second.reserve(t.Context(), session.Need{Output: 4000}); end != nil || grant.Output != 0 {
		t.Errorf("%+v %+v", grant, end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, end := first.reserve(ctx, session.Need{Output: 4000}); end == nil || end.Kind != session.Cancelled {
		t.Errorf("a wait that ends with its context: %+v", end)
	}
}

func TestUnknownPricesAreCounted(t *testing.T) {
	p := newLedger(money.Dollar, nil).purse(&account{what: "the job's limit", cap: money.Dollar / 2}, "m", nil)
	for _, cost := range []money.USD{dollars(0.3), dollars(0.3)} {
		grant, end := p.reserve(t.Context(), session.Need{Input: 1e9})
		if end != nil {
			t.Fatal(end.Reason)
		}
		grant.Settle(&cost)
	}
	if _, end := p.reserve(t.Context(), session.Need{}); end == nil || end.Kind != session.OverCost {
		t.Errorf("%+v", end)
	}
}

// A failed attempt is booked at once, and another one is only made if it is paid
// for beside it.
func TestFailedAttemptsAreBooked(t *testing.T) {
	l := newLedger(dollars(0.05), nil)
	p := l.purse(&account{}, "m", perToken(0, 1e-5))
	grant, _ := p.reserve(t.Context(), session.Need{Output: 2000}) // holds 0.02
	for i, lost := range []money.USD{dollars(0.02), dollars(0.03), dollars(0.031)} {
		end := grant.Again(&lost)
		if (end != nil) != (i == 2) || l.run.usd != lost {
			t.Fatalf("lost %s: %+v, %+v", lost, end, l.run)
		}
	}
	cost := dollars(0.031)
	grant.Settle(&cost)
	if l.run.usd != dollars(0.031) || l.run.held != 0 || l.run.calls != 0 {
		t.Errorf("%+v", l.run)
	}
}
