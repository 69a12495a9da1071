package runs

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
	"github.com/millhand/millhand/tasks"
)

// days are the reservations of a run, one for each policy with a daily budget.
type days struct {
	reserved []*daily.Reservation
	before   money.USD // spent by earlier processes of the run, which is recorded in their files
}

// openDays reserves money of the daily budgets for a run, and returns a plan whose
// budget is the remaining amount.
func openDays(ctx context.Context, w world.World, plan *tasks.Plan, s Starting) (*tasks.Plan, days, error) {
	all, name := days{before: s.History.Past.Spent()}, s.ID
	if past := s.History.Past; past != nil {
		name = fmt.Sprintf("%s-%d", s.ID, past.Last.Seq)
	}
	if s.Queued != nil {
		all.before = 0 // of other machines
		name = fmt.Sprintf("%s-%s-%d", s.ID, s.Queued.Job.Key, s.Queued.Delivery)
	}
	for _, p := range plan.Policies {
		if p.Day.USD == 0 {
			continue
		}
		dir, err := w.StateDir()
		if err != nil {
			return nil, all, errors.Join(err, all.close())
		}
		dir = filepath.Join(dir, "spend", rundir.OutputsOf(p.Path))
		most := plan.Budget.CostUSD
		if most > 0 {
			most = max(most.Sub(all.before), 1)
		}
		r, err := daily.Reserve(ctx, dir, w.Now(), name, p.Day.USD, most)
		if err != nil {
			exit := event.ExitUsage
			if exceeded := (*daily.Exceeded)(nil); errors.As(err, &exceeded) {
				exit = event.ExitBudget
			}
			all.close() //nolint:errcheck // the run does not start
			return nil, all, fault.New(exit, "budget.day (%s): %w; nothing was run", p.Day.Source, err)
		}
		all.reserved = append(all.reserved, r)
		if s.Queued == nil {
			plan = plan.WithCost(r.Limit.Add(all.before))
			continue
		}
		plan = plan.WithJobCost(r.Limit, func(string) bool { return true }) // the budget is that of all workers, the day that of this machine
	}
	return plan, all, nil
}

// set records the cost of the run so far.
func (d days) set(usd money.USD) {
	for _, r := range d.reserved {
		r.Record(usd.Sub(d.before))
	}
}

func (d days) close() error {
	var errs []error
	for _, r := range d.reserved {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
