package summary

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
)

// sentence formats the run's totals as one line.
func sentence(r *report.Report) string {
	t := &r.Run.Totals
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped; %s; %s (%s); %s; cost %s; time %s",
		figures.Count(t.Jobs, "job"), t.Passed, t.Failed, t.Skipped, figures.Count(t.Turns, "turn"),
		figures.Count(t.ToolCalls, "tool call"), deniedText(t.DeniedCalls, t.DeniedTurns, t.DeniedCost), figures.Count(t.Changes, "changed path"),
		costText(t), figures.Duration(r.Run.ElapsedMS))
}

// costText formats the cost of the run, or a lower bound.
func costText(t *report.Totals) string {
	if t.CostAtLeast != nil && *t.CostAtLeast > 0 {
		return "at least " + money.Rounded(t.CostAtLeast)
	}
	return money.Rounded(t.CostUSD)
}

// deniedText formats the number and cost of denied calls.
func deniedText(calls, turns int, cost *money.USD) string {
	if calls == 0 {
		return "0 denied"
	}
	return fmt.Sprintf("%d denied, in %s, cost %s", calls, figures.Count(turns, "turn"), money.Rounded(cost))
}

// short abbreviates a commit hash.
func short(hash string) string { return hash[:min(len(hash), 7)] }

// confinement describes the level of a sandbox and what it confines.
func confinement(s event.Sandbox) string {
	var inputs []string
	for _, item := range []struct {
		on   bool
		name string
	}{{s.FS, "files"}, {s.Net, "network"}, {s.PID, "processes"}} {
		if item.on {
			inputs = append(inputs, item.name)
		}
	}
	if len(inputs) == 0 {
		return s.Level
	}
	return s.Level + " (" + strings.Join(inputs, ", ") + ")"
}
