package manifest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// maxWaves bounds the waves of a rollout.
const maxWaves = 100

// Rollout is a rollout as it is written.
type Rollout struct {
	Value form.Value
	tasks.Rollout
	Canaries   []form.Text
	Conditions advance

	AtMaxOpen, AtPerHour, AtCIMinutes form.Value
}

// advance is an [tasks.Advance] as it is written.
type advance struct {
	tasks.Advance
	AtChecks, AtMerged, AtForecast form.Value
}

var (
	rolloutForm = form.Of[*Rollout]{Type: form.TypeOf((*Rollout).keys), Read: readRollout}
	wavesForm   = form.Of[[]tasks.WaveSize]{Type: form.ListOf(waveForm).Type, Read: readWaves}
	waveForm    = form.Of[tasks.WaveSize]{Type: form.Type{Name: "integer", Min: 1, Or: new(form.Type{Name: "string"})}, Read: readWave}
	shareForm   = form.Of[tasks.Share]{Type: form.Type{Name: "string"}, Read: readShare}
)

func (r *Rollout) keys() form.Table {
	return form.Table{
		{Name: "canary", Field: form.Into(&r.Canaries, form.UpTo(form.MaxCommands, form.ListOf(form.Filled))), Doc: "Names of repositories whose jobs are the first wave"},
		{Name: "waves", Field: form.Into(&r.Waves, wavesForm), Doc: "Number of jobs that have been started after each wave, or a share of all jobs such as 25%; the rest is the last wave"},
		{Name: "advance", Field: form.Into(&r.Conditions, form.Mapping((*advance).keys)), Doc: "Conditions that a wave must meet before the next one starts"},
		{Name: "stop", Field: form.Into(&r.Stop, form.Mapping(stopLossKeys)), Doc: "Limits that stop the rollout; checked after every job"},
		{Name: "max_open", Field: form.Noting(&r.AtMaxOpen, form.Into(&r.MaxOpen, form.Positive())), Doc: "Maximum number of open pull requests of all runs with this name"},
		{Name: "per_hour", Field: form.Noting(&r.AtPerHour, form.Into(&r.PerHour, form.Positive())), Doc: "Maximum number of pull requests that all runs with this name create within 60 minutes"},
		{Name: "ci_minutes", Field: form.Noting(&r.AtCIMinutes, form.Into(&r.CIMinutes, form.Positive())), Doc: "Minutes of checks of all these pull requests, after which the rollout stops"},
	}
}

func (a *advance) keys() form.Table {
	return form.Table{
		{Name: "passed", Field: form.Into(&a.Passed, shareForm), Doc: "Share of the wave's finished jobs that passed"},
		{Name: "checks", Field: form.Noting(&a.AtChecks, form.Into(&a.Checks, shareForm)), Doc: "Share of the wave's finished jobs whose pull requests passed their checks"},
		{Name: "merged", Field: form.Noting(&a.AtMerged, form.Into(&a.Merged, form.Positive())), Doc: "Merged pull requests of the wave, or all of them if it has fewer"},
		{Name: "forecast", Field: form.Noting(&a.AtForecast, form.Into(&a.Forecast, form.Cost)), Doc: "USD that the bound of the forecast for all jobs may not exceed"},
	}
}

func stopLossKeys(s *tasks.StopLoss) form.Table {
	return form.Table{
		{Name: "failed", Field: form.Into(&s.Failed, shareForm), Doc: "Share of the wave's finished jobs that failed; decides after 3 failures, or when the entire wave can't be better"},
		{Name: "denied", Field: form.Into(&s.Denied, form.Positive()), Doc: "Jobs of the wave that ended with outcome policy"},
		{Name: "cost_per_job", Field: form.Into(&s.CostPerJob, form.Cost), Doc: "USD that the mean cost of the wave's finished jobs may not exceed; decides after 3 jobs"},
	}
}

func readRollout(v form.Value) (*Rollout, bool) {
	r := &Rollout{Value: v}
	r.keys().Read(v)
	r.Advance = r.Conditions.Advance
	for _, t := range r.Canaries {
		if slices.Contains(r.Canary, t.S) {
			t.Problem("duplicate canary "+problem.Quote(t.S), "remove it")
		}
		r.Canary = append(r.Canary, t.S)
	}
	return r, v.IsMapping()
}

// readWaves reads sizes, which grow.
func readWaves(v form.Value) ([]tasks.WaveSize, bool) {
	var last tasks.WaveSize
	sizes, ok := form.UpTo(maxWaves, form.ListOf(form.Of[tasks.WaveSize]{Type: waveForm.Type, Read: func(v form.Value) (tasks.WaveSize, bool) {
		s, ok := readWave(v)
		switch {
		case !ok:
			return s, false
		case last.Share == 10000:
			v.Problem("a wave after 100% has no jobs", "remove it")
		case s.Jobs > 0 && s.Jobs <= last.Jobs || s.Share > 0 && s.Share <= last.Share:
			v.Problem(fmt.Sprintf("wave %s is not larger than a wave before it", s), "each wave counts the jobs of the waves before, too: write for example [10, 25%, 100%]")
		}
		last = tasks.WaveSize{Jobs: cmp.Or(s.Jobs, last.Jobs), Share: cmp.Or(s.Share, last.Share)}
		return s, true
	}})).Read(v)
	if ok && len(v.Node.Content) == 0 {
		v.Problem(v.Label+" is empty", "write for example [10, 25%, 100%], or remove it")
	}
	return sizes, ok
}

func readWave(v form.Value) (tasks.WaveSize, bool) {
	if v.IsScalar() && strings.HasSuffix(v.Node.Value, "%") {
		share, ok := readShare(v)
		return tasks.WaveSize{Share: share}, ok
	}
	n, err := strconv.Atoi(strings.ReplaceAll(v.Node.Value, "_", ""))
	if !v.IsScalar() || v.Node.ShortTag() != "!!int" || err != nil || n < 1 {
		v.Wrong("a number of jobs from 1, or a percentage", "write for example 10 or 25%")
		return tasks.WaveSize{}, false
	}
	return tasks.WaveSize{Jobs: n}, true
}

// readShare reads a percentage above 0% and up to 100%.
func readShare(v form.Value) (tasks.Share, bool) {
	digits, ok := strings.CutSuffix(v.Node.Value, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	share := tasks.Share(math.Round(percent * 100))
	if !v.IsScalar() || !ok || err != nil || strings.TrimLeft(digits, "0123456789.") != "" || !(percent <= 100) || share < 1 {
		v.Wrong("a percentage above 0% and up to 100%", "write for example 80%")
		return 0, false
	}
	return share, true
}
