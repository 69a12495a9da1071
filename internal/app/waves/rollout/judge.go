package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// figures are the counts of a wave.
type figures struct {
	unknown, passed, failed, red, neutral int

	denied int         // of failed: by a policy
	cost   money.Total // of the finished jobs

	green                 int // passed jobs whose pull requests passed their checks or were merged, or that have none
	pulls, closed, merged int
}

// finished counts the jobs that decide about a wave.
func (f figures) finished() int { return f.passed + f.failed }

func (r *Rollout) figures(wave int) figures {
	var f figures
	for _, j := range r.waves[wave].Jobs {
		rec, is := r.history.jobs[j.ID], r.result(j)
		switch is {
		case unknown:
			f.unknown++
		case red:
			f.red++
		case neutral:
			f.neutral++
		case failed:
			f.failed++
			if rec.end.Outcome == event.Policy {
				f.denied++
			}
		case passed:
			f.passed++
			if rec.pull == nil || rec.pull.State == pullMerged || rec.pull.State == pullOpen && rec.pull.Checks == checksPassed {
				f.green++
			}
		}
		if rec.end != nil && (is == passed || is == failed) {
			f.cost.Add(rec.end.CostUSD, 0)
		}
		if rec.pull != nil && is != unknown {
			f.pulls++
			switch rec.pull.State {
			case pullClosed:
				f.closed++
			case pullMerged:
				f.merged++
			}
		}
	}
	return f
}

// decisive is the number of jobs from which on a share of them stops a wave: one of two proves
// little.
const decisive = 3

// losses returns the limits under stop that a wave exceeds.
func (r *Rollout) losses(wave int) []event.Condition {
	f, stop := r.figures(wave), r.spec.Stop
	var over []event.Condition
	add := func(key, limit, value string) {
		over = append(over, event.Condition{Key: "rollout.stop." + key, Limit: limit, Value: value})
	}
	total := f.finished() + f.unknown
	if stop.Failed > 0 && f.failed > 0 && f.failed >= stop.Failed.Of(f.finished()) && (f.failed >= decisive || f.failed >= stop.Failed.Of(total)) {
		add("failed", stop.Failed.String(), shareOf(f.failed, f.finished()))
	}
	if stop.Denied > 0 && f.denied >= stop.Denied {
		add("denied", fmt.Sprint(stop.Denied), fmt.Sprint(f.denied))
	}
	if cost := f.cost.USD(); stop.CostPerJob > 0 && cost != nil && f.finished() >= min(decisive, total) && f.finished() > 0 {
		if mean := *cost / money.USD(f.finished()); mean > stop.CostPerJob {
			add("cost_per_job", dollars(stop.CostPerJob), dollars(mean))
		}
	}
	return over
}

// conditions returns the conditions that must be met after a wave.
func (r *Rollout) conditions(wave int) []event.Condition {
	f, need := r.figures(wave), r.spec.Advance
	all := []event.Condition{}
	add := func(key, limit, value string, met bool) {
		all = append(all, event.Condition{Key: "rollout.advance." + key, Limit: limit, Value: value, Met: met && f.unknown == 0})
	}
	nothing := f.finished() == 0 && f.red == 0
	if need.Passed > 0 {
		add("passed", need.Passed.String(), shareOf(f.passed, f.finished()), nothing || f.finished() > 0 && f.passed >= need.Passed.Of(f.finished()))
	}
	if need.Checks > 0 {
		add("checks", need.Checks.String(), r.fromForge(shareOf(f.green, f.finished())), nothing || f.finished() > 0 && f.green >= need.Checks.Of(f.finished()))
	}
	if need.Merged > 0 {
		merged := min(need.Merged, f.pulls-f.closed)
		if f.pulls > 0 {
			merged = max(merged, 1)
		}
		add("merged", fmt.Sprint(need.Merged), r.fromForge(fmt.Sprintf("%d of %d", f.merged, f.pulls)), f.merged >= merged)
	}
	if need.Forecast > 0 {
		f, lacks := r.forecast()
		switch {
		case f == nil || f.BoundUSD == nil: // too early, unless nothing will ever know
			add("forecast", dollars(need.Forecast), "unknown: "+lacks, f != nil)
		default:
			add("forecast", dollars(need.Forecast), dollars(*f.BoundUSD), *f.BoundUSD <= need.Forecast)
		}
	}
	return all
}

// fromForge marks a figure that is not known because the forge was not asked.
func (r *Rollout) fromForge(value string) string {
	if r.history.asked {
		return value
	}
	return value + ", without asking the forge"
}

// overCI returns the limit of the minutes of checks if it is exceeded.
func (r *Rollout) overCI() []event.Condition {
	var sum time.Duration
	for _, rec := range r.history.jobs {
		if rec.pull != nil {
			sum += rec.pull.CI
		}
	}
	if limit := r.spec.CIMinutes; limit > 0 && int(sum/time.Minute) >= limit {
		return []event.Condition{{Key: "rollout.ci_minutes", Limit: fmt.Sprint(limit), Value: fmt.Sprintf("%.0f", sum.Minutes())}}
	}
	return nil
}

func (r *Rollout) isOpen(job string) bool {
	p := r.history.jobs[job].pull
	return p != nil && p.State == pullOpen
}

// present is what decides whether a job starts, computed once between two ends of jobs: a
// plan can have thousands of jobs.
type present struct {
	known        bool
	over         []event.Condition
	open, recent int // pull requests, with those of running jobs
}

func (r *Rollout) compute() {
	if r.present.known {
		return
	}
	p := present{known: true, over: slices.Concat(r.losses(r.current), r.overCI()), open: len(r.reserved), recent: len(r.reserved)}
	now := r.now()
	for _, rec := range r.history.jobs {
		if rec.pull == nil {
			continue
		}
		if rec.pull.State == pullOpen {
			p.open++
		}
		if !rec.pull.Created.IsZero() && now.Sub(rec.pull.Created) < time.Hour {
			p.recent++
		}
	}
	r.present = p
}

// over returns the limits that stop the current wave.
func (r *Rollout) over() []event.Condition {
	r.compute()
	return r.present.over
}

// full returns the limits that another pull request of a job would exceed.
func (r *Rollout) full(j tasks.Job) []event.Condition {
	if j.Pull == nil || r.isOpen(j.ID) {
		return nil
	}
	r.compute()
	open, recent := r.present.open, r.present.recent
	var all []event.Condition
	if limit := r.spec.MaxOpen; limit > 0 && open >= limit {
		all = append(all, event.Condition{Key: "rollout.max_open", Limit: fmt.Sprint(limit), Value: fmt.Sprint(open)})
	}
	if limit := r.spec.PerHour; limit > 0 && recent >= limit {
		all = append(all, event.Condition{Key: "rollout.per_hour", Limit: fmt.Sprint(limit), Value: fmt.Sprint(recent)})
	}
	return all
}

// report returns the current wave with its results.
func (r *Rollout) report() *event.Rollout {
	at := r.position()
	at.Conditions, at.Exceeded = []event.Condition{}, append([]event.Condition{}, r.exceeded...)
	if len(r.waves) > 0 && r.verdict != done {
		f := r.figures(r.current)
		at.Finished, at.Passed, at.Failed, at.Denied, at.BaseRed, at.CostUSD = f.finished(), f.passed, f.failed, f.denied, f.red, f.cost.USD()
		if r.current+1 < len(r.waves) {
			at.Conditions = r.conditions(r.current)
		}
	}
	if f, _ := r.forecast(); f != nil && f.Rest > 0 {
		at.Forecast = f
	}
	return at
}

func dollars(usd money.USD) string { return money.Rounded(&usd) }

// shareOf formats a share as 70% (7 of 10).
func shareOf(n, of int) string {
	if of == 0 {
		return "no finished job"
	}
	return fmt.Sprintf("%s (%d of %d)", tasks.Share(n*10000/of), n, of)
}

// text describes conditions that are exceeded.
func text(all []event.Condition) string {
	var list []string
	for _, c := range all {
		list = append(list, fmt.Sprintf("%s %s: %s", c.Key, c.Limit, c.Value))
	}
	return strings.Join(list, "; ")
}
