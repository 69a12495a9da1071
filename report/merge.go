package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// Input is a saved run to merge with others of the same plan: one shard, or a run of the
// entire plan.
type Input struct {
	Name string                        // for messages and [Merged.Source]: its report directory
	Open func() (io.ReadCloser, error) // opens its stored stream; called twice, while no other part is open
}

// Merged is the result of a merge.
type Merged struct {
	Report *Report
	Exit   event.Exit
	// Source has, by job id, the name of the part whose run of the job counts and
	// which has the job's patch, sessions and outputs. Jobs that are in no part are
	// not in it.
	Source map[string]string
}

// RefusedError reports that parts can't be merged.
type RefusedError struct {
	Names  []string // of the parts
	Reason string
	Err    error // of reading a part, or nil
}

func (e *RefusedError) Error() string {
	text := "merge " + strings.Join(e.Names, " and ") + ": " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Merge merges saved runs. It writes the merged stream to w, one Write call per event,
// and returns its report. The order of the parts does not matter. Parts of different
// plans or with different numbers of shards, and invalid streams, are a
// [*RefusedError]; then nothing was written.
//
//   - The jobs are those of the plan that the parts list, in its order. A job of a
//     missing shard is skipped with the code not_run, and the exit code is at least 1.
//   - If a job has several runs, the last one counts, by the start of its part, then
//     by the part's run id. But a run that did not start does not replace one that
//     ended.
//   - Turns, usage and cost of a job are the sums over all its runs; reruns is the
//     number of replaced runs. Everything else is of the run that counts.
//   - A job that did not end in its part ends as in the report of that part.
//   - If two parts have the same run id, the longer one counts, with a warning.
//   - The exit code is that of a run with the counted ends of jobs and failOn. A signal
//     counts if a job that it cancelled does.
//   - The run starts with the earliest part and ends with the latest. Its id is
//     the time of its start and the first 8 hexadecimal digits of the SHA-256 of
//     the parts' ids, sorted, one per line. It has no shard. If one of them has the plan
//     of a run whose jobs were distributed, and runs none, it has the id and the budget of that run.
//
// Merge reads every part twice, one event at a time. It holds the plan, the costs of
// turns, and the report in memory.
func Merge(w io.Writer, inputs []Input, failOn event.FailOn) (*Merged, error) {
	m, err := readParts(inputs)
	if err != nil {
		return nil, err
	}
	for _, p := range m.inputs {
		for _, e := range p.fold.jobs {
			m.rivals(e.id).add(p, e.data())
		}
	}
	m.order()
	return m.write(w, failOn)
}

// merge has data of the parts from the first pass.
type merge struct {
	inputs    []*item // in the order of their starts
	elsewhere map[string]event.PlannedJob
	warnings  []string

	known   map[identity]int // indices of inputs as they are read
	sharded *item            // the first one that is a shard; nil for none
	plan    *item            // the one with the plan of a distributed run; nil for none

	jobs []*rivals // in the order of the plan
	byID map[string]*rivals
}

func readParts(inputs []Input) (*merge, error) {
	if len(inputs) == 0 {
		return nil, &RefusedError{Names: []string{"nothing"}, Reason: "no runs given"}
	}
	m := &merge{elsewhere: map[string]event.PlannedJob{}, byID: map[string]*rivals{}, known: map[identity]int{}}
	inputs = slices.SortedFunc(slices.Values(inputs), func(a, b Input) int { return strings.Compare(a.Name, b.Name) })
	for _, given := range inputs {
		p, err := readPart(given, m.elsewhere)
		if err != nil {
			return nil, err
		}
		if err := m.admit(p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(m.inputs, func(a, b *item) int {
		return cmp.Or(a.fold.first.Compare(b.fold.first), strings.Compare(a.run().ID, b.run().ID))
	})
	if i := slices.IndexFunc(m.inputs, func(p *item) bool { return p.plan }); i >= 0 {
		m.plan = m.inputs[i]
	}
	return m, nil
}

// identity is equal in all copies of the events of a run.
type identity struct {
	run     string
	shard   event.Shard
	seconds int64 // of the start
	nanos   int
}

// admit adds a part unless it conflicts with the others. These agree with each other, so one of
// them stands for all.
func (m *merge) admit(p *item) error {
	if len(m.inputs) > 0 {
		q := m.inputs[0]
		if a, b := q.run(), p.run(); a.PlanHash != b.PlanHash {
			why := fmt.Sprintf("runs of different plans (%s and %s)", a.PlanHash, b.PlanHash)
			if lists := differentLists(a.Sources, b.Sources); lists != "" {
				why = "runs of different plans, because " + lists
			}
			return &RefusedError{Names: []string{q.Name, p.Name}, Reason: why}
		}
	}
	if q := m.sharded; q != nil && p.run().Shard != nil && q.shard().Total != p.shard().Total {
		return &RefusedError{Names: []string{q.Name, p.Name}, Reason: fmt.Sprintf("different numbers of shards (%d and %d)", q.shard().Total, p.shard().Total)}
	}
	id := identity{p.run().ID, p.shard(), p.fold.first.Unix(), p.fold.first.Nanosecond()}
	if i, known := m.known[id]; known {
		q := m.inputs[i]
		m.warnings = append(m.warnings, fmt.Sprintf("%s and %s are the same run %s, which is counted once", q.Name, p.Name, id.run))
		if p.events > q.events {
			m.inputs[i] = p
		}
		return nil
	}
	if p.run().Shard != nil {
		m.sharded = cmp.Or(m.sharded, p)
	}
	m.known[id] = len(m.inputs)
	m.inputs = append(m.inputs, p)
	return nil
}

// rivals returns the runs of a job, and adds it if it is new.
func (m *merge) rivals(id string) *rivals {
	r, ok := m.byID[id]
	if !ok {
		r = &rivals{id: id}
		m.byID[id] = r
	}
	return r
}

// order sorts the jobs by their index in the plan, and those without an index in the
// order of the parts, shard by shard.
func (m *merge) order() {
	for id, planned := range m.elsewhere {
		r := m.rivals(id)
		r.planned = cmp.Or(r.planned, &planned)
		if r.source == nil {
			r.end = r.absent(m)
		}
	}
	listed := map[string]bool{}
	list := func(id string) {
		if !listed[id] {
			listed[id] = true
			m.jobs = append(m.jobs, m.byID[id])
		}
	}
	for _, p := range slices.SortedStableFunc(slices.Values(m.inputs), func(a, b *item) int { return cmp.Compare(a.shard().Index, b.shard().Index) }) {
		for _, e := range p.fold.jobs {
			list(e.id)
		}
	}
	for _, r := range slices.SortedFunc(maps.Values(m.byID), func(a, b *rivals) int {
		return cmp.Or(cmp.Compare(a.shard(), b.shard()), strings.Compare(a.id, b.id))
	}) {
		list(r.id)
	}
	slices.SortStableFunc(m.jobs, func(a, b *rivals) int { return cmp.Compare(a.index(), b.index()) })
}

// run returns the payload of the merged run.started event.
func (m *merge) run(start time.Time) *event.Run {
	out := &event.Run{ID: m.runID(start), Name: m.inputs[0].run().Name, PlanHash: m.inputs[0].run().PlanHash, Manifest: []string{}, Jobs: []event.PlannedJob{}}
	var versions []string
	for _, p := range m.inputs {
		out.Manifest = append(out.Manifest, missing(out.Manifest, p.run().Manifest...)...)
		out.Policies = append(out.Policies, missing(out.Policies, p.run().Policies...)...)
		for _, s := range p.run().Sources {
			if !slices.ContainsFunc(out.Sources, func(other event.Source) bool { return reflect.DeepEqual(s, other) }) {
				out.Sources = append(out.Sources, s)
			}
		}
		if p := p.run().Prices; p != nil && (out.Prices == nil || p.Dated < out.Prices.Dated) {
			out.Prices = p
		}
		if out.StartedBy == nil {
			out.StartedBy = p.run().StartedBy
		}
		versions = append(versions, missing(versions, p.run().Version)...)
	}
	out.Version = strings.Join(versions, ", ")
	if r := m.distributed(); r != nil {
		out.MaxCostUSD = r.MaxCostUSD
	}
	for _, r := range m.jobs {
		if r.planned != nil {
			planned := *r.planned
			planned.Shard = 0
			out.Jobs = append(out.Jobs, planned)
		}
	}
	return out
}

// differentLists describes how the lists of the same sources differ; "" if they do not.
func differentLists(a, b []event.Source) string {
	for _, s := range a {
		for _, t := range b {
			before, after := namesIn(s), namesIn(t)
			s.Repos, s.LeftOut, t.Repos, t.LeftOut = nil, event.LeftOut{}, nil, event.LeftOut{}
			if !reflect.DeepEqual(s, t) || slices.Equal(before, after) {
				continue
			}
			others := slices.Concat(missing(before, after...), missing(after, before...))
			slices.Sort(others)
			text := fmt.Sprintf("%s/%s listed other repositories for each of them (%s", s.Host, s.Owner, strings.Join(others[:min(len(others), maxListed)], ", "))
			if len(others) > maxListed {
				text += fmt.Sprintf(" and %d more", len(others)-maxListed)
			}
			return text + "); give all shards the same list, with --sources"
		}
	}
	return ""
}

// maxListed is the maximum number of repositories in an error.
const maxListed = 5

func namesIn(s event.Source) []string {
	var names []string
	for _, r := range s.Repos {
		names = append(names, r.Name)
	}
	return names
}

// missing returns the values that are not in a list.
func missing[T comparable](list []T, values ...T) []T {
	return slices.DeleteFunc(slices.Clone(values), func(v T) bool { return slices.Contains(list, v) })
}

// distributed returns the run whose jobs were distributed, one in each report; nil for others. One
// report has its plan: it runs no job, and lists all of them as those of other shards.
func (m *merge) distributed() *event.Run {
	if m.plan == nil {
		return nil
	}
	return m.plan.run()
}

func (m *merge) runID(start time.Time) string {
	if r := m.distributed(); r != nil {
		return r.ID
	}
	var ids []string
	for _, p := range m.inputs {
		ids = append(ids, p.run().ID)
	}
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return start.UTC().Format("20060102-150405-") + hex.EncodeToString(sum[:4])
}

// sources returns the names of the parts whose runs of the jobs count.
func (m *merge) sources() map[string]string {
	names := map[string]string{}
	for _, r := range m.jobs {
		if r.source != nil {
			names[r.id] = r.source.Name
		}
	}
	return names
}

// span returns the start of the first part and the end of the last one.
func (m *merge) span() (start, end time.Time) {
	start, end = m.inputs[0].fold.first, m.inputs[0].fold.last
	for _, p := range m.inputs {
		if p.fold.last.After(end) {
			end = p.fold.last
		}
	}
	return start, end
}

// exit returns the exit code of the merged run.
func (m *merge) exit(failOn event.FailOn) (worst, exit event.Exit) {
	var ends []event.JobEnd
	var signals []event.Exit
	absent := false
	for _, r := range m.jobs {
		ends, signals = append(ends, r.end), append(signals, r.interrupt())
		absent = absent || r.source == nil
	}
	worst, exit = event.Worst(append(event.ExitsOf(ends), signals...)), failOn.Exit(ends, signals...)
	if absent && exit == event.ExitOK {
		exit = event.ExitFailed // regardless of failOn: these jobs did not run
	}
	return worst, exit
}
