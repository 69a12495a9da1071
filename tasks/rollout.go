package tasks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/money"
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
	value
	Rollout
	canary  []text
	advance advance

	maxOpen, perHour, ciMinutes value
}

// advance is an [Advance] as it is written.
type advance struct {
	Advance
	checks, merged, forecast value
}

var (
	rolloutForm = form[*rollout]{typeOf((*rollout).keys), readRollout}
	wavesForm   = form[[]WaveSize]{listOf(waveForm).Type, readWaves}
	waveForm    = form[WaveSize]{Type{Name: "integer", Min: 1, Or: new(Type{Name: "string"})}, readWave}
	shareForm   = form[Share]{Type{Name: "string"}, readShare}
)

func (r *rollout) keys() keys {
	return keys{
		{"canary", into(&r.canary, upTo(maxCommands, listOf(textForm))), "", "Names of repositories whose jobs are the first wave"},
		{"waves", into(&r.Waves, wavesForm), "", "Number of jobs that have been started after each wave, or a share of all jobs such as 25%; the rest is the last wave"},
		{"advance", into(&r.advance, mapping((*advance).keys)), "", "Conditions that a wave must meet before the next one starts"},
		{"stop", into(&r.Stop, mapping((*StopLoss).keys)), "", "Limits that stop the rollout; checked after every job"},
		{"max_open", noting(&r.maxOpen, into(&r.MaxOpen, positive())), "", "Maximum number of open pull requests of all runs with this name"},
		{"per_hour", noting(&r.perHour, into(&r.PerHour, positive())), "", "Maximum number of pull requests that all runs with this name create within 60 minutes"},
		{"ci_minutes", noting(&r.ciMinutes, into(&r.CIMinutes, positive())), "", "Minutes of checks of all these pull requests, after which the rollout stops"},
	}
}

func (a *advance) keys() keys {
	return keys{
		{"passed", into(&a.Passed, shareForm), "", "Share of the wave's finished jobs that passed"},
		{"checks", noting(&a.checks, into(&a.Checks, shareForm)), "", "Share of the wave's finished jobs whose pull requests passed their checks"},
		{"merged", noting(&a.merged, into(&a.Merged, positive())), "", "Merged pull requests of the wave, or all of them if it has fewer"},
		{"forecast", noting(&a.forecast, into(&a.Forecast, costForm)), "", "USD that the bound of the forecast for all jobs may not exceed"},
	}
}

func (s *StopLoss) keys() keys {
	return keys{
		{"failed", into(&s.Failed, shareForm), "", "Share of the wave's finished jobs that failed; decides after 3 failures, or when the entire wave can't be better"},
		{"denied", into(&s.Denied, positive()), "", "Jobs of the wave that ended with outcome policy"},
		{"cost_per_job", into(&s.CostPerJob, costForm), "", "USD that the mean cost of the wave's finished jobs may not exceed; decides after 3 jobs"},
	}
}

func readRollout(v value) (*rollout, bool) {
	r := &rollout{value: v}
	r.keys().read(v)
	r.Advance = r.advance.Advance
	for _, t := range r.canary {
		if slices.Contains(r.Canary, t.s) {
			t.problem("duplicate canary "+problem.Quote(t.s), "remove it")
		}
		r.Canary = append(r.Canary, t.s)
	}
	return r, v.isMapping()
}

// readWaves reads sizes, which grow.
func readWaves(v value) ([]WaveSize, bool) {
	var last WaveSize
	sizes, ok := upTo(maxWaves, listOf(form[WaveSize]{waveForm.Type, func(v value) (WaveSize, bool) {
		s, ok := readWave(v)
		switch {
		case !ok:
			return s, false
		case last.Share == 10000:
			v.problem("a wave after 100% has no jobs", "remove it")
		case s.Jobs > 0 && s.Jobs <= last.Jobs || s.Share > 0 && s.Share <= last.Share:
			v.problem(fmt.Sprintf("wave %s is not larger than a wave before it", s), "each wave counts the jobs of the waves before, too: write for example [10, 25%, 100%]")
		}
		last = WaveSize{Jobs: cmp.Or(s.Jobs, last.Jobs), Share: cmp.Or(s.Share, last.Share)}
		return s, true
	}})).read(v)
	if ok && len(sizes) == 0 {
		v.problem(v.name+" is empty", "write for example [10, 25%, 100%], or remove it")
	}
	return sizes, ok
}

func readWave(v value) (WaveSize, bool) {
	if v.isScalar() && strings.HasSuffix(v.node.Value, "%") {
		share, ok := readShare(v)
		return WaveSize{Share: share}, ok
	}
	n, err := strconv.Atoi(strings.ReplaceAll(v.node.Value, "_", ""))
	if !v.isScalar() || v.node.ShortTag() != "!!int" || err != nil || n < 1 {
		v.wrong("a number of jobs from 1, or a percentage", "write for example 10 or 25%")
		return WaveSize{}, false
	}
	return WaveSize{Jobs: n}, true
}

// readShare reads a percentage above 0% and up to 100%.
func readShare(v value) (Share, bool) {
	digits, ok := strings.CutSuffix(v.node.Value, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	share := Share(math.Round(percent * 100))
	if !v.isScalar() || !ok || err != nil || strings.TrimLeft(digits, "0123456789.") != "" || !(percent <= 100) || share < 1 {
		v.wrong("a percentage above 0% and up to 100%", "write for example 80%")
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
			m.rollout.keyProblem(fmt.Sprintf("the rollout differs from the one at %s", first.source()), "state it once: it holds for all manifests of a run")
		}
	}
	if first == nil || b.options.Overrides.NoRollout {
		return nil
	}
	checkSelection(b)
	first.checkCanary(drafts)
	first.checkPulls(b, drafts)
	first.checkForecast(drafts)
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
func (r *rollout) checkCanary(drafts []*draft) {
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
		if !known[t.s] && len(names) > 0 {
			t.problem("unknown repository "+problem.Quote(t.s)+" in canary", t.src.Found.Suggest(t.s, names, "repositories of the plan: "))
		}
	}
}

// checkPulls records keys that count pull requests if no job creates one.
func (r *rollout) checkPulls(b *builder, drafts []*draft) {
	creates := func(d *draft) bool { return d.job.Publish == PublishPR }
	if b.options.Overrides.Publish != "" || len(drafts) == 0 || slices.ContainsFunc(drafts, creates) {
		return
	}
	for _, key := range []struct {
		value
		valid bool
	}{{r.advance.checks, r.Advance.Checks > 0}, {r.advance.merged, r.Advance.Merged > 0}, {r.maxOpen, r.MaxOpen > 0}, {r.perHour, r.PerHour > 0}, {r.ciMinutes, r.CIMinutes > 0}} {
		if v := key.value; key.valid {
			v.keyProblem(v.name+" counts pull requests, but no task creates them", "set publish: {mode: pr} on a task, or remove it")
		}
	}
}

// checkForecast records a bound on costs that jobs without a limit don't have.
func (r *rollout) checkForecast(drafts []*draft) {
	if r.Advance.Forecast == 0 {
		return
	}
	for _, d := range drafts {
		if d.job.Limits.CostUSD == 0 {
			r.advance.forecast.keyProblem(fmt.Sprintf("%s requires a cost limit of each job, which task %s does not have", r.advance.forecast.name, problem.Quote(d.task.id.s)), "set limits: {cost: USD}")
			return
		}
	}
}
