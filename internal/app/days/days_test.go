package days

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// withDay is a plan with a budget of a day in a policy.
func withDay(run, day money.USD) *tasks.Plan {
	return &tasks.Plan{Budget: tasks.Budget{CostUSD: run}, Policies: policy.Set{{Name: "p", Path: "/p.yaml", Day: policy.Cap{USD: day, Source: "p.yaml:2"}}}}
}

func TestRunsOfADayShareItsBudget(t *testing.T) {
	home := t.TempDir()
	w := world.World{Now: time.Now, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	plan, first, err := Open(t.Context(), w, withDay(3*money.Dollar, 5*money.Dollar), Run{ID: "one"})
	if err != nil || plan.Budget.CostUSD != 3*money.Dollar {
		t.Fatalf("the first run gets $%s, %v", plan.Budget.CostUSD, err)
	}
	plan, second, err := Open(t.Context(), w, withDay(3*money.Dollar, 5*money.Dollar), Run{ID: "two"})
	if err != nil || plan.Budget.CostUSD != 2*money.Dollar {
		t.Fatalf("the second run gets $%s of the rest, %v", plan.Budget.CostUSD, err)
	}
	if _, _, err := Open(t.Context(), w, withDay(3*money.Dollar, 5*money.Dollar), Run{ID: "three"}); fault.ExitOf(err) != event.ExitBudget || !strings.Contains(err.Error(), "budget.day (p.yaml:2)") {
		t.Errorf("nothing is left: %v", err)
	}
	first.Set(money.Dollar / 2)
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	plan, again, err := Open(t.Context(), w, withDay(0, 5*money.Dollar), Run{ID: "four"})
	if err != nil || plan.Budget.CostUSD != 4*money.Dollar+money.Dollar/2 {
		t.Errorf("after runs that cost $0.50, the next one gets $%s, %v", plan.Budget.CostUSD, err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	w.Getenv = func(string) string { return "" }
	if _, _, err := Open(t.Context(), w, withDay(0, money.Dollar), Run{ID: "five"}); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_STATE_HOME") {
		t.Errorf("without a directory: %v", err)
	}
}

// The budget of a queued run is that of all its workers, and each delivery reserves under its own name.
func TestDeliveriesShareADayButNotTheBudgetOfTheirRun(t *testing.T) {
	home := t.TempDir()
	w := world.World{Now: time.Now, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	for i, want := range []money.USD{3 * money.Dollar, 2 * money.Dollar} {
		plan := withDay(3*money.Dollar, 5*money.Dollar)
		plan.Jobs = []tasks.Job{{ID: "build"}}
		plan, day, err := Open(t.Context(), w, plan, Run{ID: "run", Delivery: fmt.Sprintf("build-%d", i+1)})
		if err != nil {
			t.Fatal(err)
		}
		defer day.Close()
		if got := plan.Jobs[0].Limits.CostUSD; got != want || plan.Budget.CostUSD != 3*money.Dollar {
			t.Errorf("delivery %d: the job gets $%s of the run's $%s, want $%s", i+1, got, plan.Budget.CostUSD, want)
		}
	}
}
