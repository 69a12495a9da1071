package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/millhand/millhand/internal/money"
)

// account is the budget of a run in the queue.
type account struct {
	Limit money.USD `json:"limit_usd"` // 0 for none
	Spent money.USD `json:"spent_usd"` // by deliveries that have ended
	// Held are the sums of deliveries in progress, by key of the job and number of the delivery.
	Held map[string]money.Sums `json:"held,omitempty"`
}

// sums are the sums of all deliveries except one.
func (a *account) sums(except string) money.Sums {
	all := money.Sums{Spent: a.Spent}
	for name, s := range a.Held {
		if name != except {
			all = all.Plus(s)
		}
	}
	return all
}

// negative reports whether an amount is less than nothing, which would permit others to spend more than the limit.
func (a *account) negative() bool {
	least := min(a.Limit, a.Spent)
	for _, s := range a.Held {
		least = min(least, s.Spent, s.Reserved, money.USD(s.Requests))
	}
	return least < 0
}

func budgetKey(run string) string { return "budget." + run }

func holder(key string, delivery int) string { return key + "/" + strconv.Itoa(delivery) }

// budgets are the budgets of the runs of a queue.
type budgets struct{ state jetstream.KeyValue }

// open creates the budget of a run.
func (b budgets) open(ctx context.Context, r *Run) error {
	text, err := json.Marshal(account{Limit: r.CostUSD})
	if err == nil {
		_, err = b.state.Create(ctx, budgetKey(r.ID), text)
	}
	return err
}

// read reads the budget of a run.
func (b budgets) read(ctx context.Context, run string) (a account, revision uint64, err error) {
	var entry jetstream.KeyValueEntry
	err = retry(ctx, func(ctx context.Context) (err error) {
		entry, err = b.state.Get(ctx, budgetKey(run))
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	case err == nil:
		if err = json.Unmarshal(entry.Value(), &a); err == nil && a.negative() {
			err = errors.New("negative amount")
		}
		if err != nil {
			a, err = account{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if err != nil {
		return a, 0, fmt.Errorf("read the budget of run %s: %w", run, err)
	}
	return a, entry.Revision(), nil
}

// change changes the budget of a run by compare-and-set. edit returns false to leave it as it
// is. It is called again for a change that was refused or whose response was lost, so it must
// recognise one that was made.
func (b budgets) change(ctx context.Context, run string, edit func(*account) (bool, error)) error {
	for {
		a, revision, err := b.read(ctx, run)
		if err != nil {
			return err
		}
		changed, err := edit(&a)
		if err != nil || !changed {
			return err
		}
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err = b.state.Update(ctx, budgetKey(run), text, revision); err == nil {
			return nil
		}
		if ctx.Err() != nil || !isConflict(err) && !temporary(err) {
			return fmt.Errorf("change the budget of run %s: %w", run, err)
		}
		if !isConflict(err) {
			pause(ctx)
		}
	}
}

// Money is the budget of a run: its costs and reservations, and its limit, 0 for none. The error is ErrInvalid if its
// record is.
func (q *Queue) Money(ctx context.Context, run string) (sums money.Sums, limit money.USD, err error) {
	a, _, err := q.budgets.read(ctx, run)
	return a.sums(""), a.Limit, err
}

// holders lists the deliveries in progress of a run, by key of the job.
func (a *account) holders() map[string]int {
	all := map[string]int{}
	for name := range a.Held {
		key, number, _ := strings.Cut(name, "/")
		n, _ := strconv.Atoi(number) // written by holder
		all[key] = max(all[key], n)
	}
	return all
}
