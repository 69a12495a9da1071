// Package days reserves money of the daily budgets in policies for a run, and records what it has spent. [Open] returns a
// plan whose budget is what remains. A delivery of a queue reserves under its own name, and does not count what other machines
// have spent: the package knows only the runs of this machine.
package days

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/money/daily"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// Days are the reservations of a run, one for each policy with a daily budget.
type Days struct {
	reserved []*daily.Reservation
	before   money.USD // spent by earlier processes of the run, which is recorded in their files
}

// Run is the run for which money is reserved.
type Run struct {
	ID       string
	Past     *history.Past // what earlier processes did; nil for a new run
	Delivery string        // name of the delivery of a queue whose job the run executes; "" for a run of this process alone
}

// Open reserves money of the daily budgets for a run, and returns a plan whose
// budget is the remaining amount.
func Open(ctx context.Context, w world.World, plan *tasks.Plan, r Run) (*tasks.Plan, Days, error) {
	all, name := Days{before: r.Past.Spent()}, r.ID
	if r.Past != nil {
		name = fmt.Sprintf("%s-%d", r.ID, r.Past.Last.Seq)
	}
	if r.Delivery != "" {
		all.before = 0 // of other machines
		name = r.ID + "-" + r.Delivery
	}
	for _, p := range plan.Policies {
		if p.Day.USD == 0 {
			continue
		}
		dir, err := w.StateDir()
		if err != nil {
			return nil, all, errors.Join(err, all.Close())
		}
		dir = filepath.Join(dir, "spend", rundir.OutputsOf(p.Path))
		most := plan.Budget.CostUSD
		if most > 0 {
			most = max(most.Sub(all.before), 1)
		}
		reserved, err := daily.Reserve(ctx, dir, w.Now(), name, p.Day.USD, most)
		if err != nil {
			exit := event.ExitUsage
			if exceeded := (*daily.Exceeded)(nil); errors.As(err, &exceeded) {
				exit = event.ExitBudget
			}
			all.Close() //nolint:errcheck // the run does not start
			return nil, all, fault.New(exit, "budget.day (%s): %w; nothing was run", p.Day.Source, err)
		}
		all.reserved = append(all.reserved, reserved)
		if r.Delivery == "" {
			plan = plan.WithCost(reserved.Limit.Add(all.before))
			continue
		}
		plan = plan.WithJobCost(reserved.Limit, func(string) bool { return true }) // the budget is that of all workers, the day that of this machine
	}
	return plan, all, nil
}

// Set records the cost of the run so far.
func (d Days) Set(usd money.USD) {
	for _, r := range d.reserved {
		r.Record(usd.Sub(d.before))
	}
}

// Close ends the reservations.
func (d Days) Close() error {
	var errs []error
	for _, r := range d.reserved {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
