package report

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report/packing"
)

// ManyJobs is the number of jobs from which on a fold should be Compact.
const ManyJobs = 500

// Fold collects the events of a run. It is an [event.Sink] and safe for concurrent use.
// Its zero value is ready to use.
type Fold struct {
	// Compact makes the fold hold jobs that have ended as their events, compressed, which it folds again for a
	// report: runs of many jobs need much less memory, and a little more time. It is set before the first event.
	Compact bool

	mu          sync.Mutex
	run         *event.Run
	starts      int // number of run.started events: several if the run was resumed
	end         *event.RunEnd
	first, last time.Time // of the stored events
	jobs        []*entry  // in the order of the plan
	byID        map[string]*entry
	warnings    []Warning
	made        *Report         // of the events so far; nil if it was not requested since the last one
	final       bool            // made is by [Fold.Final]
	packer      *packing.Packer // nil unless it is Compact, and before the first job

	early     bool            // if it is Compact, the report of a job is made when it ends, unless it is continued
	continued map[string]bool // jobs with events after their end
	reopened  map[string]bool // jobs whose report was made too early; nil to warn of them
}

// Load folds a stored stream, such as events.jsonl. Its errors are those of
// [event.Read]; a stream that was truncated by a kill is not an error, but has a warning.
//
// The reports of jobs are made when they end. If events of a job follow, as in a run that was resumed, and r is an [io.Seeker], the
// stream is read again.
func Load(r io.Reader) (*Report, error) {
	var f Fold
	start := int64(0)
	again, seeks := r.(io.Seeker)
	if seeks {
		var err error
		if start, err = again.Seek(0, io.SeekCurrent); err == nil { // a pipe can't
			f.early, f.reopened = true, map[string]bool{}
		}
	}
	if err := f.load(r); err != nil {
		return nil, err
	}
	if len(f.reopened) == 0 {
		return f.Final(), nil
	}
	if _, err := again.Seek(start, io.SeekStart); err != nil {
		return nil, fmt.Errorf("load report: %w", err)
	}
	second := Fold{early: true, continued: f.reopened}
	if err := second.load(r); err != nil {
		return nil, err
	}
	return second.Final(), nil
}

func (f *Fold) load(r io.Reader) error {
	err := read(r, func(e event.Event) error {
		f.Compact = f.Compact || e.Run != nil && len(e.Run.Jobs) >= ManyJobs
		return f.Emit(e)
	})
	if err != nil {
		return fmt.Errorf("load report: %w", err)
	}
	return nil
}

// read calls fn for every event of a stored stream, and last for a warning if the end of
// a stream with events is invalid.
func read(r io.Reader, fn func(event.Event) error) error {
	var last time.Time
	torn, err := event.Read(r, func(e event.Event) error {
		last = e.Time
		return fn(e)
	})
	if err != nil || torn == 0 || last.IsZero() {
		return err
	}
	text := fmt.Sprintf("the last event is incomplete (%s) and was ignored: the run was killed while writing it, or the machine crashed", figures.Count(torn, "byte"))
	return fn(event.Event{Type: event.WarningIssued, Time: last, Warning: &event.Warning{Message: text}})
}

// Emit adds an event. It ignores unknown events. Its only error is that of [Fold.Final].
func (f *Fold) Emit(e event.Event) error {
	if e.Type == event.Sealed {
		return nil // a seal has the hash of the report
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made = nil
	if f.first.IsZero() {
		f.first = e.Time
	}
	f.last = e.Time
	switch use, _ := uses.Of(e.Type); {
	case use.run != nil && e.Complete():
		use.run(f, e)
	case use.job != nil && e.Job != "":
		f.addToJob(e, use.job)
	}
	return nil
}

func (f *Fold) endRun(e event.Event) { f.end = clone(e.RunEnd) }

func (f *Fold) takeWarning(e event.Event) {
	f.warnings = append(f.warnings, warning(e.Job, e.Warning.Message))
}

func (f *Fold) addToJob(e event.Event, take func(*job, event.Event)) {
	to := f.entry(e.Job)
	switch {
	case to.done != nil && f.reopened != nil:
		f.reopened[e.Job] = true
		return
	case to.done != nil:
		f.warnings = append(f.warnings, warning(e.Job, string(e.Type)+" came after the job's report was made"))
		return
	}
	to.add(e, take, f.starts)
}

// startRun adds the plan's jobs. A resumed run has another run.started event in the
// same stream, possibly with the same jobs.
func (f *Fold) startRun(e event.Event) {
	run := e.Run
	started := *run
	started.Manifest, started.Policies = slices.Clone(run.Manifest), slices.Clone(run.Policies)
	started.Sources = withLists(run.Sources)
	started.Jobs, started.Elsewhere, started.Shard = nil, nil, clone(run.Shard)
	f.run, f.end = &started, nil
	f.starts++
	for _, planned := range run.Jobs {
		e := f.entry(planned.ID)
		if e.done != nil && f.reopened != nil && !reflect.DeepEqual(e.planned, &planned) {
			f.reopened[e.id] = true
		}
		if e.planned = &planned; e.job != nil {
			e.job.planned = e.planned
		}
	}
}

// withLists returns sources none of whose lists is nil.
func withLists(sources []event.Source) []event.Source {
	all := append([]event.Source{}, sources...)
	for i, s := range all {
		all[i].Include, all[i].Exclude = append([]string{}, s.Include...), append([]string{}, s.Exclude...)
		all[i].Repos = append([]event.SourceRepo{}, s.Repos...)
	}
	return all
}

// entry returns the job with an id, and adds it if it is new.
func (f *Fold) entry(id string) *entry {
	if e, ok := f.byID[id]; ok {
		return e
	}
	if f.byID == nil {
		f.byID = map[string]*entry{}
	}
	if f.Compact && f.packer == nil {
		f.packer = &packing.Packer{}
	}
	e := &entry{id: id, packer: f.packer, early: f.early && !f.continued[id]}
	f.jobs = append(f.jobs, e)
	f.byID[id] = e
	return e
}

// Report returns the report of the events so far. It can be called at any time; later
// events don't change the result. A run that has not ended is reported as killed. Callers share the
// result, which may be large, and don't modify it.
func (f *Fold) Report() *Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.shared()
}

func (f *Fold) shared() *Report {
	if f.made == nil {
		f.made, f.final = f.report(false), false
	}
	return f.made
}

// Final is like [Fold.Report] at the end of a run. It releases what only further events of the jobs that have ended would
// need, which is more than the report: [Fold.Emit] refuses such events from then on.
func (f *Fold) Final() *Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made == nil || !f.final {
		f.made, f.final = f.report(true), true
	}
	return f.made
}

// report makes the report. If it is the final one, the data of each job are released when its report is made.
func (f *Fold) report(final bool) *Report {
	r := &Report{
		SchemaVersion: SchemaVersion,
		Run:           f.runReport(),
		Jobs:          make([]Job, 0, len(f.jobs)),
		Warnings:      append([]Warning{}, f.warnings...),
	}
	cancelled := r.Run.Outcome == event.Cancelled
	var unknown Report // has the warnings of unknown values
	r.Run.Outcome = known(&unknown, "", "outcome", r.Run.Outcome, event.Error, append(slices.Clone(outcomes), event.Waiting, event.Stopped)...)
	for _, e := range f.jobs {
		j := e.data()
		r.Jobs = append(r.Jobs, f.reportOf(e, j, cancelled))
		out, before := &r.Jobs[len(r.Jobs)-1], len(unknown.Warnings)
		conform(&unknown, out)
		switch {
		case e.done != nil:
			e.done = out // of the new list
		case final && j.end != nil && len(unknown.Warnings) == before: // of unknown values, each report has to warn
			e.finish(out)
		}
		if e.planned == nil && f.run != nil {
			r.warn(e.id, "the job is not in the plan")
		}
	}
	f.warnGaps(r)
	r.Warnings = append(r.Warnings, unknown.Warnings...)
	r.warnUnknownCosts()
	r.Run.Totals = totals(r)
	about := byJob(r.Warnings)
	for i := range r.Jobs {
		r.Jobs[i].Warnings = append([]string{}, about[r.Jobs[i].ID]...)
	}
	return r
}

// Run returns the run of the report, without its totals.
func (f *Fold) Run() Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runReport()
}

// Job returns the report of one job from the events so far; false for an unknown job. Unlike
// [Fold.Report] it does not depend on the number of jobs.
func (f *Fold) Job(id string) (Job, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.byID[id]
	if !ok {
		return Job{}, false
	}
	r := f.reportOf(e, e.data(), false)
	r.Warnings = append([]string{}, byJob(f.warnings)[id]...)
	full, err := r.Complete()
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
		return r, true
	}
	return *full, true
}

func (f *Fold) reportOf(e *entry, j *job, cancelled bool) Job {
	if e.done != nil {
		return *e.done
	}
	return j.report(cancelled, f.last)
}

// byJob returns the texts of the warnings about each job.
func byJob(warnings []Warning) map[string][]string {
	texts := map[string][]string{}
	for _, w := range warnings {
		if w.Job != nil {
			texts[*w.Job] = append(texts[*w.Job], w.Message)
		}
	}
	return texts
}

// runReport returns the run without its totals.
func (f *Fold) runReport() Run {
	run := Run{
		StartedAt:  stamp(f.first),
		FinishedAt: stamp(f.last),
		ElapsedMS:  max(0, f.last.Sub(f.first).Milliseconds()),
		Manifest:   []string{},
		Policies:   []event.PolicyFile{},
		Sources:    []event.Source{},
		Outcome:    event.Error,
		ExitCode:   event.ExitInternal,
	}
	if f.run != nil {
		run.ID, run.Name, run.PlanHash, run.Version = f.run.ID, f.run.Name, f.run.PlanHash, f.run.Version
		run.Manifest = append(run.Manifest, f.run.Manifest...)
		run.Policies = append(run.Policies, f.run.Policies...)
		run.Sources = withLists(f.run.Sources)
		run.Shard, run.Prices, run.StartedBy = clone(f.run.Shard), clone(f.run.Prices), clone(f.run.StartedBy)
		run.MaxCostUSD = clone(f.run.MaxCostUSD)
		run.Rollout = f.run.Rollout
	}
	if f.run != nil && f.run.ForkedFrom != nil {
		from := f.run.ForkedFrom
		run.ForkedFrom = &ForkedFrom{Run: from.Run, Job: from.Job, Message: from.Message, Turn: from.Turn}
	}
	if f.end != nil {
		run.Outcome, run.ExitCode, run.ElapsedMS = f.end.Outcome, f.end.ExitCode, f.end.ElapsedMS
		run.Rollout = cmp.Or(f.end.Rollout, run.Rollout)
	}
	return run
}

// warnGaps warns of a missing start or end of the run.
func (f *Fold) warnGaps(r *Report) {
	if f.run == nil {
		r.warn("", "run.started is missing from the events: the plan is unknown")
	}
	if f.end == nil {
		r.warn("", "run.ended is missing from the events: the run was killed or is still running")
	}
}

// totals sums over the jobs and warns of jobs whose cost is unknown.
func totals(r *Report) Totals {
	t := Totals{Jobs: len(r.Jobs)}
	var unknown []string
	var cost, denied money.Total
	for _, j := range r.Jobs {
		switch j.Outcome {
		case event.Passed:
			t.Passed++
		case event.Skipped:
			t.Skipped++
		default:
			t.Failed++
		}
		t.Turns += j.Turns
		t.ToolCalls += j.CallCount()
		t.DeniedCalls += len(j.Denied)
		t.DeniedTurns += j.DeniedTurns
		denied.Add(j.DeniedCost, 0)
		t.Usage = t.Usage.Add(j.Usage)
		cost.Add(j.CostUSD, j.atLeast)
		t.Changes += len(j.Changes)
		t.Retries += j.Retries
		t.Lost = t.Lost.Plus(j.Lost)
		if j.CostUSD == nil {
			unknown = append(unknown, j.ID)
		}
	}
	t.DeniedCost = denied.USD()
	if t.CostUSD = cost.USD(); t.CostUSD == nil {
		t.CostAtLeast = new(cost.Least())
		r.warn("", "the cost of the run is unknown, because the cost of these jobs is unknown: "+strings.Join(unknown, ", "))
	}
	return t
}

// use is what a report does with events of a type: of the run, or of a job.
type use struct {
	run func(*Fold, event.Event)
	job func(*job, event.Event)
}

var uses = event.Walk[use]{
	On: map[event.Type]use{
		event.RunStarted:       {run: (*Fold).startRun},
		event.JobStarted:       {job: (*job).takeStart},
		event.PhaseEnded:       {job: (*job).takePhase},
		event.BaselineEnded:    {job: (*job).takeBaseline},
		event.ScriptEnded:      {job: (*job).takeScript},
		event.SessionStarted:   {job: (*job).takeSession},
		event.AttemptStarted:   {job: (*job).takeAttempt},
		event.TurnStarted:      {job: (*job).takeTurn},
		event.RequestRetried:   {job: (*job).takeRetry},
		event.CallUpdated:      {job: (*job).takeCall},
		event.TurnEnded:        {job: (*job).takeTurn},
		event.Pruned:           {job: (*job).takePrune},
		event.Compacted:        {job: (*job).takeCompaction},
		event.SessionEnded:     {job: (*job).takeSession},
		event.VerifyEnded:      {job: (*job).takeVerify},
		event.AblationEnded:    {job: (*job).takeHunks},
		event.ModelEscalated:   {job: (*job).takeEscalation},
		event.ReviewEnded:      {job: (*job).takeReview},
		event.ChangesFound:     {job: (*job).takeChanges},
		event.Committed:        {job: (*job).takeCommit},
		event.CommitPublished:  {job: (*job).takePublished},
		event.CommentPosted:    {job: (*job).takeComment},
		event.JobEnded:         {job: (*job).takeEnd},
		event.NetworkRequested: {job: (*job).takeNetwork},
		event.ExtensionChanged: {job: (*job).takeExtension},
		event.UntrustedRead:    {job: (*job).takeUntrusted},
		event.Reverted:         {job: (*job).takeRevert},
		event.WarningIssued:    {run: (*Fold).takeWarning},
		event.RunEnded:         {run: (*Fold).endRun},

		event.ForgeRequestEnded: {job: func(j *job, e event.Event) { j.requests.take(*e.ForgeRequest) }},
	},
	Ignores: []event.Type{
		event.PhaseStarted, event.CommandStarted, event.CommandEnded, event.ModelText, event.FilesLeft, event.CommitStarted, event.PublishStarted,
		event.PullRequestStarted, event.CommentStarted, event.ForgeRequestStarted, event.RevertStarted,
		event.AblationStarted, event.TrialEnded,
		event.Sealed, // it has the hash of the report
	},
}
