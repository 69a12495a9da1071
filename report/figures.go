package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// dollars writes a cost with the digits that matter: cents from a dollar on,
// four decimals down to a tenth of a cent, below that two digits.
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

// duration writes milliseconds as people say them: 350ms, 4.2s, 1m23s, 2h05m.
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

// count writes a number with its noun: 1 job, 2 jobs.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sentence is the run's totals in one line.
func (r *Report) sentence() string {
	t := r.Run.Totals
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped; %s; %s (%s); %s; cost %s; time %s",
		count(t.Jobs, "job"), t.Passed, t.Failed, t.Skipped, count(t.Turns, "turn"),
		count(t.ToolCalls, "tool call"), deniedWords(t.DeniedCalls, t.DeniedTurns, t.DeniedCost), count(t.Changes, "changed path"),
		dollars(t.CostUSD), duration(r.Run.ElapsedMS))
}

// deniedWords says how many calls were denied and what they took.
func deniedWords(calls, turns int, cost *money.USD) string {
	if calls == 0 {
		return "0 denied"
	}
	return fmt.Sprintf("%d denied, in %s, cost %s", calls, count(turns, "turn"), dollars(cost))
}

// short is a commit's hash as people write it.
func short(hash string) string { return hash[:min(len(hash), 7)] }

// confinement says in words what a sandbox confines.
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

// began tells whether a job came so far that its sandbox was known.
func (j *Job) began() bool { return j.Sandbox.Level != "" }

// verifies gives, for each verify command in the order of its first run,
// its runs; the last one decides.
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

// exit says how a verify command ended.
func exit(v event.Verify) string {
	if v.ExitCode < 0 {
		return "killed or never started"
	}
	return fmt.Sprintf("exit code %d", v.ExitCode)
}

// by names what denied the call: a rule and where it stands or, where no rule
// did, the source alone.
func (d *Denial) by(quote func(string) string) string {
	if d.Rule == "" {
		return quote(d.Source)
	}
	return "rule " + quote(d.Rule) + " (" + quote(d.Source) + ")"
}
