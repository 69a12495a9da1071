package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// dollars formats a cost with two decimals from $1 on, four decimals down to $0.001, and
// two significant digits below.
func dollars(usd *money.USD) string {
	if usd == nil {
		return "unknown"
	}
	amount := usd.Dollars()
	size := math.Abs(amount)
	switch {
	case size == 0 || size >= 1:
		return fmt.Sprintf("$%.2f", amount)
	case size >= 0.001:
		return fmt.Sprintf("$%.4f", amount)
	default:
		decimals := 1 - int(math.Floor(math.Log10(size)))
		return "$" + strconv.FormatFloat(amount, 'f', decimals, 64)
	}
}

// duration formats milliseconds for people: 350ms, 4.2s, 1m23s, 2h05m.
func duration(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%dms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%d.%ds", ms/1000, ms%1000/100)
	case ms < 3_600_000:
		return fmt.Sprintf("%dm%02ds", ms/60_000, ms%60_000/1000)
	default:
		return fmt.Sprintf("%dh%02dm", ms/3_600_000, ms%3_600_000/60_000)
	}
}

// count formats a number with a noun: 1 job, 2 jobs.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sentence formats the run's totals as one line.
func (r *Report) sentence() string {
	t := r.Run.Totals
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped; %s; %s (%s); %s; cost %s; time %s",
		count(t.Jobs, "job"), t.Passed, t.Failed, t.Skipped, count(t.Turns, "turn"),
		count(t.ToolCalls, "tool call"), deniedText(t.DeniedCalls, t.DeniedTurns, t.DeniedCost), count(t.Changes, "changed path"),
		t.cost(), duration(r.Run.ElapsedMS))
}

// cost formats the cost of the run, or a lower bound.
func (t Totals) cost() string {
	if t.CostAtLeast != nil && *t.CostAtLeast > 0 {
		return "at least " + dollars(t.CostAtLeast)
	}
	return dollars(t.CostUSD)
}

// deniedText formats the number and cost of denied calls.
func deniedText(calls, turns int, cost *money.USD) string {
	if calls == 0 {
		return "0 denied"
	}
	return fmt.Sprintf("%d denied, in %s, cost %s", calls, count(turns, "turn"), dollars(cost))
}

// short abbreviates a commit hash.
func short(hash string) string { return hash[:min(len(hash), 7)] }

// confinement describes the level of a sandbox and what it confines.
func confinement(s event.Sandbox) string {
	var parts []string
	for _, part := range []struct {
		on   bool
		name string
	}{{s.FS, "files"}, {s.Net, "network"}, {s.PID, "processes"}} {
		if part.on {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		return s.Level
	}
	return s.Level + " (" + strings.Join(parts, ", ") + ")"
}

// began reports whether the job started.
func (j *Job) began() bool { return j.Sandbox.Level != "" }

// verifies groups the runs of verify commands by command, in the order of their first
// runs; the last run of each is its result.
func (j *Job) verifies() [][]event.Verify {
	var all [][]event.Verify
	index := map[string]int{}
	for _, v := range j.Verify {
		i, ok := index[v.Name]
		if !ok {
			i = len(all)
			index[v.Name] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], v)
	}
	return all
}

// exit describes how a verify command ended.
func exit(v event.Verify) string {
	if v.ExitCode < 0 {
		return "killed or not started"
	}
	return fmt.Sprintf("exit code %d", v.ExitCode)
}

// by formats the rule that denied the call and its location; only the source if there is
// no rule.
func (d *Denial) by(quote func(string) string) string {
	if d.Rule == "" {
		return quote(d.Source)
	}
	return "rule " + quote(d.Rule) + " (" + quote(d.Source) + ")"
}
