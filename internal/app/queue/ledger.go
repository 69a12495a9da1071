package queue

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/money"
)

// chargeEarlier opens the account of a delivery, and charges what earlier ones had reserved in
// full: their workers can't report any more what it cost.
func (q *Queue) chargeEarlier(ctx context.Context, c *Claim) error {
	own := holder(c.Job.Key, c.Delivery)
	return q.budgets.change(ctx, c.Run.ID, func(a *account) (bool, error) {
		if _, made := a.Held[own]; made {
			return false, nil
		}
		for name, s := range a.Held {
			if strings.HasPrefix(name, c.Job.Key+"/") {
				a.Spent = a.Spent.Add(s.Money())
				delete(a.Held, name)
			}
		}
		if a.Held == nil {
			a.Held = map[string]money.Sums{}
		}
		a.Held[own] = money.Sums{}
		return true, nil
	})
}

// closeAccounts closes the accounts of deliveries, whose requests nobody ends any more. The
// account of a run without a limit does not have what the job cost: its result does.
func (c *Claim) closeAccounts(ctx context.Context, result Result, closes func(holder string) bool) error {
	return c.q.budgets.change(ctx, c.Run.ID, func(a *account) (changed bool, err error) {
		for name, s := range a.Held {
			if !closes(name) {
				continue
			}
			changed = true
			delete(a.Held, name)
			a.Spent = a.Spent.Add(s.Money()) // what is reserved still could not be settled
			if a.Limit == 0 && result.End.CostUSD != nil && name == holder(c.Job.Key, result.Delivery) {
				a.Spent = a.Spent.Add(*result.End.CostUSD)
			}
		}
		return changed, nil
	})
}

// Ledger is the budget of the run, for the requests of a claim. It is a [money.Ledger].
type Ledger struct {
	claim    *Claim
	watching sync.Once

	mu      sync.Mutex
	changed chan struct{}
	seen    map[string]sign // of other deliveries with requests in flight
}

// sign is the last sign of life of a delivery.
type sign struct {
	text string    // which worker showed it when; "" for none
	at   time.Time // when this process saw it: clocks of machines differ
}

// Ledger returns the budget of the run for the requests of this claim. It is called once.
func (c *Claim) Ledger() *Ledger {
	l := &Ledger{claim: c, changed: make(chan struct{}), seen: map[string]sign{}}
	if c.Run.CostUSD > 0 { // without a limit nobody waits for money
		l.start()
	}
	return l
}

// start starts to watch the budget.
func (l *Ledger) start() {
	l.watching.Do(func() { l.claim.beats.Go(func() { l.watch(l.claim.lease) }) })
}

// missed is how often those who wait for money look again: a change may have been missed.
const missed = 5 * time.Second

// watch wakes those who wait for money after each change of the budget.
func (l *Ledger) watch(ctx context.Context) {
	var updates <-chan jetstream.KeyValueEntry
	if watcher, err := l.claim.q.state.Watch(ctx, budgetKey(l.claim.Run.ID), jetstream.UpdatesOnly()); err == nil {
		defer watcher.Stop() //nolint:errcheck // it ends with the connection
		updates = watcher.Updates()
	}
	tick := time.NewTicker(missed)
	defer tick.Stop()
	for {
		select {
		case _, open := <-updates:
			if !open {
				updates = nil
			}
		case <-tick.C:
			l.listen(ctx) //nolint:errcheck // the next time
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
	}
}

// Changed is closed after the next change by any worker.
func (l *Ledger) Changed() <-chan struct{} {
	l.start()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// listen looks for signs of life of the other deliveries that have requests in flight.
func (l *Ledger) listen(ctx context.Context) error {
	a, _, err := l.claim.q.budgets.read(ctx, l.claim.Run.ID)
	if err != nil || a.sums(l.own()).Requests == 0 {
		return err
	}
	keys := map[string]string{}
	for _, j := range l.claim.Run.Jobs {
		keys[j.ID] = j.Key
	}
	shown := map[string]string{}
	err = l.claim.q.entries(ctx, "worker.*", func(entry jetstream.KeyValueEntry) error {
		var w Worker
		json.Unmarshal(entry.Value(), &w) //nolint:errcheck // of another version if it is invalid
		for _, j := range w.Jobs {
			if j.Run == l.claim.Run.ID {
				shown[holder(keys[j.Job], j.Delivery)] = w.ID + " " + w.At.String()
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, now := l.seen, l.claim.q.now()
	l.seen = map[string]sign{}
	for name := range a.Held {
		s, known := before[name]
		if text := shown[name]; !known || text != "" && text != s.text {
			s = sign{text, now}
		}
		l.seen[name] = s
	}
	return nil
}

// Others returns the sums of the other deliveries. Requests of one whose worker has
// disappeared don't count: its job may wait for those who would wait for them.
func (l *Ledger) Others(ctx context.Context) (money.Sums, error) {
	a, _, err := l.claim.q.budgets.read(ctx, l.claim.Run.ID)
	sums := a.sums(l.own())
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, s := range a.Held {
		if last, known := l.seen[name]; known && name != l.own() && l.claim.q.now().Sub(last.at) > Silence {
			sums.Requests -= s.Requests
		}
	}
	return sums, err
}

func (l *Ledger) own() string { return holder(l.claim.Job.Key, l.claim.Delivery) }

// Reserve enters the sums of this delivery, unless those of all would exceed the limit.
func (l *Ledger) Reserve(ctx context.Context, own money.Sums, limit money.USD) (ok bool, err error) {
	err = l.enter(ctx, own, func(a *account) bool {
		ok = limit == 0 || a.sums(l.own()).Plus(own).Money() <= limit
		return ok
	})
	return ok && err == nil, err
}

// Settle enters the sums of this delivery.
func (l *Ledger) Settle(ctx context.Context, own money.Sums) error {
	return l.enter(ctx, own, func(*account) bool { return true })
}

// enter enters the sums of this delivery if the account permits it.
func (l *Ledger) enter(ctx context.Context, own money.Sums, permits func(*account) bool) error {
	return l.claim.q.budgets.change(ctx, l.claim.Run.ID, func(a *account) (bool, error) {
		if _, held := a.Held[l.own()]; !held {
			return false, ErrLost // and charged in full
		}
		if !permits(a) {
			return false, nil
		}
		a.Held[l.own()] = own
		return true, nil
	})
}
