package tasks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Rollout divides the jobs of a plan into waves, each of which a separate run executes. Zero
// values mean: no condition, and no limit.
type Rollout struct {
	Canary  []string   // names of repositories: their jobs are the first wave
	Waves   []WaveSize // the remaining jobs are another wave
	Advance Advance
	Stop    StopLoss

	// Limits of the pull requests of all runs with the plan's name.
	MaxOpen   int // that are open
	PerHour   int // created in the last 60 minutes
	CIMinutes int // of the checks of their heads
}

// CountsPulls reports whether the forge must be asked for pull requests.
func (r *Rollout) CountsPulls() bool {
	return r.MaxOpen > 0 || r.PerHour > 0 || r.CIMinutes > 0 || r.Advance.Checks > 0 || r.Advance.Merged > 0
}

// WaveSize is how many jobs have been started after a wave, with those of the waves before:
// Jobs, or a share of all jobs.
type WaveSize struct {
	Jobs  int
	Share Share
}

// Of returns the number of a plan's jobs. A share is rounded up.
func (s WaveSize) Of(jobs int) int {
	if s.Jobs > 0 {
		return min(s.Jobs, jobs)
	}
	return s.Share.Of(jobs)
}

func (s WaveSize) String() string {
	if s.Jobs > 0 {
		return strconv.Itoa(s.Jobs)
	}
	return s.Share.String()
}

// Share is a percentage, in hundredths of a percent.
type Share int

// Of returns the share of a number, rounded up.
func (s Share) Of(n int) int { return int((int64(n)*int64(s) + 9999) / 10000) }

func (s Share) String() string { return strconv.FormatFloat(float64(s)/100, 'f', -1, 64) + "%" }

// Advance is what must hold of a wave before the next one is started.
type Advance struct {
	Passed   Share // of the finished jobs
	Checks   Share // of the finished jobs: the checks of their pull requests passed
	Merged   int   // pull requests
	Forecast money.USD
}

// StopLoss is what stops a wave.
type StopLoss struct {
	Failed     Share // of the finished jobs
	Denied     int   // jobs that a policy ended
	CostPerJob money.USD
}

// maxWaves bounds the waves of a rollout.
const maxWaves = 100

// rollout is a rollout as it is written.
type rollout struct {
	form.Value
	Rollout
	canary  []form.Text
	advance advance

	maxOpen, perHour, ciMinutes form.Value
}

// advance is an [Advance] as it is written.
type advance struct {
	Advance
	checks, merged, forecast form.Value
}

var (
	rolloutForm = form.Of[*rollout]{Type: form.TypeOf((*rollout).keys), Read: readRollout}
	wavesForm   = form.Of[[]WaveSize]{Type: form.ListOf(waveForm).Type, Read: readWaves}
	waveForm    = form.Of[WaveSize]{Type: form.Type{Name: "integer", Min: 1, Or: new(form.Type{Name: "string"})}, Read: readWave}
	shareForm   = form.Of[Share]{Type: form.Type{Name: "string"}, Read: readShare}
)

func (r *rollout) keys() form.Table {
	return form.Table{
		{Name: "canary", Field: form.Into(&r.canary, form.UpTo(form.MaxCommands, form.ListOf(form.Filled))), Doc: "Names of repositories whose jobs are the first wave"},
		{Name: "waves", Field: form.Into(&r.Waves, wavesForm), Doc: "Number of jobs that have been started after each wave, or a share of all jobs such as 25%; the rest is the last wave"},
		{Name: "advance", Field: form.Into(&r.advance, form.Mapping((*advance).keys)), Doc: "Conditions that a wave must meet before the next one starts"},
		{Name: "stop", Field: form.Into(&r.Stop, form.Mapping(stopLossKeys)), Doc: "Limits that stop the rollout; checked after every job"},
		{Name: "max_open", Field: form.Noting(&r.maxOpen, form.Into(&r.MaxOpen, form.Positive())), Doc: "Maximum number of open pull requests of all runs with this name"},
		{Name: "per_hour", Field: form.Noting(&r.perHour, form.Into(&r.PerHour, form.Positive())), Doc: "Maximum number of pull requests that all runs with this name create within 60 minutes"},
		{Name: "ci_minutes", Field: form.Noting(&r.ciMinutes, form.Into(&r.CIMinutes, form.Positive())), Doc: "Minutes of checks of all these pull requests, after which the rollout stops"},
	}
}

func (a *advance) keys() form.Table {
	return form.Table{
		{Name: "passed", Field: form.Into(&a.Passed, shareForm), Doc: "Share of the wave's finished jobs that passed"},
		{Name: "checks", Field: form.Noting(&a.checks, form.Into(&a.Checks, shareForm)), Doc: "Share of the wave's finished jobs whose pull requests passed their checks"},
		{Name: "merged", Field: form.Noting(&a.merged, form.Into(&a.Merged, form.Positive())), Doc: "Merged pull requests of the wave, or all of them if it has fewer"},
		{Name: "forecast", Field: form.Noting(&a.forecast, form.Into(&a.Forecast, form.Cost)), Doc: "USD that the bound of the forecast for all jobs may not exceed"},
	}
}

func stopLossKeys(s *StopLoss) form.Table {
	return form.Table{
		{Name: "failed", Field: form.Into(&s.Failed, shareForm), Doc: "Share of the wave's finished jobs that failed; decides after 3 failures, or when the entire wave can't be better"},
		{Name: "denied", Field: form.Into(&s.Denied, form.Positive()), Doc: "Jobs of the wave that ended with outcome policy"},
		{Name: "cost_per_job", Field: form.Into(&s.CostPerJob, form.Cost), Doc: "USD that the mean cost of the wave's finished jobs may not exceed; decides after 3 jobs"},
	}
}

func readRollout(v form.Value) (*rollout, bool) {
	r := &rollout{Value: v}
	r.keys().Read(v)
	r.Advance = r.advance.Advance
	for _, t := range r.canary {
		if slices.Contains(r.Canary, t.S) {
			t.Problem("duplicate canary "+problem.Quote(t.S), "remove it")
		}
		r.Canary = append(r.Canary, t.S)
	}
	return r, v.IsMapping()
}

// readWaves reads sizes, which grow.
func readWaves(v form.Value) ([]WaveSize, bool) {
	var last WaveSize
	sizes, ok := form.UpTo(maxWaves, form.ListOf(form.Of[WaveSize]{Type: waveForm.Type, Read: func(v form.Value) (WaveSize, bool) {
		s, ok := readWave(v)
		switch {
		case !ok:
			return s, false
		case last.Share == 10000:
			v.Problem("a wave after 100% has no jobs", "remove it")
		case s.Jobs > 0 && s.Jobs <= last.Jobs || s.Share > 0 && s.Share <= last.Share:
			v.Problem(fmt.Sprintf("wave %s is not larger than a wave before it", s), "each wave counts the jobs of the waves before, too: write for example [10, 25%, 100%]")
		}
		last = WaveSize{Jobs: cmp.Or(s.Jobs, last.Jobs), Share: cmp.Or(s.Share, last.Share)}
		return s, true
	}})).Read(v)
	if ok && len(sizes) == 0 {
		v.Problem(v.Label+" is empty", "write for example [10, 25%, 100%], or remove it")
	}
	return sizes, ok
}

func readWave(v form.Value) (WaveSize, bool) {
	if v.IsScalar() && strings.HasSuffix(v.Node.Value, "%") {
		share, ok := readShare(v)
		return WaveSize{Share: share}, ok
	}
	n, err := strconv.Atoi(strings.ReplaceAll(v.Node.Value, "_", ""))
	if !v.IsScalar() || v.Node.ShortTag() != "!!int" || err != nil || n < 1 {
		v.Wrong("a number of jobs from 1, or a percentage", "write for example 10 or 25%")
		return WaveSize{}, false
	}
	return WaveSize{Jobs: n}, true
}

// readShare reads a percentage above 0% and up to 100%.
func readShare(v form.Value) (Share, bool) {
	digits, ok := strings.CutSuffix(v.Node.Value, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	share := Share(math.Round(percent * 100))
	if !v.IsScalar() || !ok || err != nil || strings.TrimLeft(digits, "0123456789.") != "" || !(percent <= 100) || share < 1 {
		v.Wrong("a percentage above 0% and up to 100%", "write for example 80%")
		return 0, false
	}
	return share, true
}

// planRollout returns the rollout of the plan; nil for none. Several manifests may not differ.
func planRollout(b *builder, drafts []*draft) *Rollout {
	var first *rollout
	for _, m := range b.manifests {
		switch {
		case m.rollout == nil:
		case first == nil:
			first = m.rollout
		case digest(m.rollout.Rollout) != digest(first.Rollout):
			m.rollout.KeyProblem(fmt.Sprintf("the rollout differs from the one at %s", first.Position()), "state it once: it holds for all manifests of a run")
		}
	}
	if first == nil || b.options.Overrides.NoRollout {
		return nil
	}
	checkSelection(b)
	checkCanary(first, drafts)
	checkPulls(first, b, drafts)
	checkForecast(first, drafts)
	return &first.Rollout
}

// checkSelection records flags that select jobs: the waves do.
func checkSelection(b *builder) {
	o := b.options.Overrides
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--shard", o.Shard != (Shard{})}, {"--only", len(o.Only) > 0}, {"--limit", o.Limit > 0}, {"--sample", o.Sample > 0}} {
		if f.given {
			b.flagProblem(f.flag, "can't be combined with a rollout, which selects the jobs of its next wave", "remove it, or the key rollout")
		}
	}
}

// checkCanary records canaries that are no repository of the plan.
func checkCanary(r *rollout, drafts []*draft) {
	known := map[string]bool{}
	for _, d := range drafts {
		if d.unsure {
			return
		}
		known[d.job.Repo.Name] = true
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, t := range r.canary {
		if !known[t.S] && len(names) > 0 {
			t.Problem("unknown repository "+problem.Quote(t.S)+" in canary", t.Src.Found.Suggest(t.S, names, "repositories of the plan: "))
		}
	}
}

// checkPulls records keys that count pull requests if no job creates one.
func checkPulls(r *rollout, b *builder, drafts []*draft) {
	creates := func(d *draft) bool { return d.job.Publish == PublishPR }
	if b.options.Overrides.Publish != "" || len(drafts) == 0 || slices.ContainsFunc(drafts, creates) {
		return
	}
	for _, key := range []struct {
		form.Value
		valid bool
	}{{r.advance.checks, r.Advance.Checks > 0}, {r.advance.merged, r.Advance.Merged > 0}, {r.maxOpen, r.MaxOpen > 0}, {r.perHour, r.PerHour > 0}, {r.ciMinutes, r.CIMinutes > 0}} {
		if v := key.Value; key.valid {
			v.KeyProblem(v.Label+" counts pull requests, but no task creates them", "set publish: {mode: pr} on a task, or remove it")
		}
	}
}

// checkForecast records a bound on costs that jobs without a limit don't have.
func checkForecast(r *rollout, drafts []*draft) {
	if r.Advance.Forecast == 0 {
		return
	}
	for _, d := range drafts {
		if d.job.Limits.CostUSD == 0 {
			r.advance.forecast.KeyProblem(fmt.Sprintf("%s requires a cost limit of each job, which task %s does not have", r.advance.forecast.Label, problem.Quote(d.task.id.S)), "set limits: {cost: USD}")
			return
		}
	}
}
