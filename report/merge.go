package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// Part is a saved run that is to be merged with others of the same plan: a
// shard of it, or all of it.
type Part struct {
	Name string                        // for messages and [Merged.Source]: its report directory
	Open func() (io.ReadCloser, error) // opens its stored stream; called twice, while no other part is open
}

// Merged is what several saved runs come to as one.
type Merged struct {
	Report *Report
	Exit   event.Exit
	// Source names, by job id, the part whose run of the job counts: the job's
	// patch, sessions and outputs are that part's. A job that no part ran or
	// skipped is not in it.
	Source map[string]string
}

// RefusedError says that parts can't be one run.
type RefusedError struct {
	Names  []string // the parts that are at fault
	Reason string
	Err    error // what reading a part failed with, or nil
}

func (e *RefusedError) Error() string {
	text := "merge " + strings.Join(e.Names, " and ") + ": " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Merge makes one run of saved ones. It writes the stream of that run to w, one
// Write call an event, and returns what it folds to. The order of the parts
// does not matter. What can't be one run is a [*RefusedError], and then nothing
// was written: parts of different plans or of differently many shards, and
// streams that are damaged or do not say what they are.
//
//   - The jobs are those of the plan, in its order, as far as the parts tell of
//     them. One that belongs to a shard that is missing is skipped, with the
//     code not_run, and the exit code is at least 1.
//   - Of several runs of a job the last counts, by when its part started, then
//     by the part's run id. But one that never began does not take the place of
//     one that came to an end.
//   - Turns, usage and cost of a job are the sums over all its runs; reruns says
//     how many there were before. Everything else is of the run that counts.
//   - A job that its part did not see end has ended as in a report of that part.
//   - A part that is given twice, as the same run id shows, counts once: the
//     longer of both, with a warning.
//   - The exit code is that of a run in which the jobs ended as those that
//     count, under failOn. A signal counts as long as a job that it cancelled
//     does.
//   - The run starts with the earliest part and ends with the latest. Its id is
//     the time of its start and the first 8 hexadecimal digits of the SHA-256 of
//     the parts' ids, sorted, one a line. It has no shard.
//
// Merge reads every part twice, an event at a time. What it keeps is the plan,
// the turns' costs, and the report.
func Merge(w io.Writer, parts []Part, failOn event.FailOn) (*Merged, error) {
	m, err := readParts(parts)
	if err != nil {
		return nil, err
	}
	for _, p := range m.parts {
		for _, j := range p.fold.jobs {
			m.rivals(j.id).add(p, j)
		}
	}
	m.order()
	return m.write(w, failOn)
}

// merge is what a merge knows of its parts after it has read them once.
type merge struct {
	parts     []*part // as they started
	elsewhere map[string]event.PlannedJob
	warnings  []string

	jobs []*rivals // in the order of the plan
	byID map[string]*rivals
}

func readParts(parts []Part) (*merge, error) {
	if len(parts) == 0 {
		return nil, &RefusedError{Names: []string{"nothing"}, Reason: "there are no runs"}
	}
	m := &merge{elsewhere: map[string]event.PlannedJob{}, byID: map[string]*rivals{}}
	parts = slices.SortedFunc(slices.Values(parts), func(a, b Part) int { return strings.Compare(a.Name, b.Name) })
	for _, given := range parts {
		p, err := readPart(given, m.elsewhere)
		if err != nil {
			return nil, err
		}
		if err := m.admit(p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(m.parts, func(a, b *part) int {
		return cmp.Or(a.fold.first.Compare(b.fold.first), strings.Compare(a.run().ID, b.run().ID))
	})
	return m, nil
}

// admit takes a part among the others unless it contradicts them.
func (m *merge) admit(p *part) error {
	for i, q := range m.parts {
		names := []string{q.Name, p.Name}
		switch a, b := q.run(), p.run(); {
		case a.PlanHash != b.PlanHash:
			return &RefusedError{Names: names, Reason: fmt.Sprintf("they are runs of different plans (%s and %s)", a.PlanHash, b.PlanHash)}
		case a.Shard != nil && b.Shard != nil && a.Shard.Total != b.Shard.Total:
			return &RefusedError{Names: names, Reason: fmt.Sprintf("one is a shard of %d, the other of %d", a.Shard.Total, b.Shard.Total)}
		case a.ID == b.ID && p.shard() == q.shard() && p.fold.first.Equal(q.fold.first):
			m.warnings = append(m.warnings, fmt.Sprintf("%s and %s are the same run %s, which counts once", q.Name, p.Name, a.ID))
			if p.events > q.events {
				m.parts[i] = p
			}
			return nil
		}
	}
	m.parts = append(m.parts, p)
	return nil
}

// rivals returns the runs of a job.
func (m *merge) rivals(id string) *rivals {
	r, ok := m.byID[id]
	if !ok {
		r = &rivals{id: id}
		m.byID[id] = r
	}
	return r
}

// order puts the jobs in the order of the plan: by their place in it, and where
// that is unknown as the parts have them, shard by shard.
func (m *merge) order() {
	for id, planned := range m.elsewhere {
		r := m.rivals(id)
		r.planned = cmp.Or(r.planned, &planned)
		if r.source == nil {
			r.end = r.absent(m.parts)
		}
	}
	listed := map[string]bool{}
	list := func(id string) {
		if !listed[id] {
			listed[id] = true
			m.jobs = append(m.jobs, m.byID[id])
		}
	}
	for _, p := range slices.SortedStableFunc(slices.Values(m.parts), func(a, b *part) int { return cmp.Compare(a.shard().Index, b.shard().Index) }) {
		for _, j := range p.fold.jobs {
			list(j.id)
		}
	}
	for _, r := range slices.SortedFunc(maps.Values(m.byID), func(a, b *rivals) int {
		return cmp.Or(cmp.Compare(a.shard(), b.shard()), strings.Compare(a.id, b.id))
	}) {
		list(r.id)
	}
	slices.SortStableFunc(m.jobs, func(a, b *rivals) int { return cmp.Compare(a.place(), b.place()) })
}

// run is the merged run, as its stream begins with it.
func (m *merge) run(start time.Time) *event.Run {
	out := &event.Run{ID: m.id(start), PlanHash: m.parts[0].run().PlanHash, Manifest: []string{}, Jobs: []event.PlannedJob{}}
	var versions []string
	for _, p := range m.parts {
		out.Manifest = append(out.Manifest, missing(out.Manifest, p.run().Manifest...)...)
		out.Policies = append(out.Policies, missing(out.Policies, p.run().Policies...)...)
		versions = append(versions, missing(versions, p.run().Version)...)
	}
	out.Version = strings.Join(versions, ", ")
	for _, r := range m.jobs {
		if r.planned != nil {
			planned := *r.planned
			planned.Shard = 0
			out.Jobs = append(out.Jobs, planned)
		}
	}
	return out
}

// missing returns those of the values that a list does not have.
func missing[T comparable](list []T, values ...T) []T {
	return slices.DeleteFunc(slices.Clone(values), func(v T) bool { return slices.Contains(list, v) })
}

func (m *merge) id(start time.Time) string {
	var ids []string
	for _, p := range m.parts {
		ids = append(ids, p.run().ID)
	}
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return start.UTC().Format("20060102-150405-") + hex.EncodeToString(sum[:4])
}

// sources names the parts whose runs of the jobs count.
func (m *merge) sources() map[string]string {
	names := map[string]string{}
	for _, r := range m.jobs {
		if r.source != nil {
			names[r.id] = r.source.Name
		}
	}
	return names
}

// span is when the first part started and the last one ended.
func (m *merge) span() (start, end time.Time) {
	start, end = m.parts[0].fold.first, m.parts[0].fold.last
	for _, p := range m.parts {
		if p.fold.last.After(end) {
			end = p.fold.last
		}
	}
	return start, end
}

// exit is the code with which one run of all jobs had exited.
func (m *merge) exit(failOn event.FailOn) (worst, exit event.Exit) {
	var codes []event.Exit
	passed, absent := false, false
	for _, r := range m.jobs {
		codes = append(codes, r.exits()...)
		passed = passed || r.end.Outcome == event.Passed
		absent = absent || r.source == nil
	}
	worst, exit = event.Worst(codes), failOn.Exit(codes, passed)
	if absent && exit == event.ExitOK {
		exit = event.ExitFailed // whatever a run may pass over: it was not told of
	}
	return worst, exit
}
