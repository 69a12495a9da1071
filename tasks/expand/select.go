package expand

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks/problem"
)

// selected returns the drafts that the command line asks for: those that it
// names, of these the first ones, and of these a sample.
func (b *builder) selected(drafts []*draft) []*draft {
	o := b.Options.Overrides
	chosen := b.named(drafts, o.Only)
	if o.Limit > 0 {
		chosen = chosen[:min(o.Limit, len(chosen))]
	}
	if o.Sample > 0 {
		chosen = sample(chosen, o.Sample)
	}
	return chosen
}

// named returns the drafts that are named by the id of a task or of a job; all
// of them if none is.
func (b *builder) named(drafts []*draft, only []string) []*draft {
	if len(only) == 0 {
		return drafts
	}
	known := slices.Sorted(maps.Keys(b.byID))
	exists, complete := map[string]bool{}, b.complete && len(drafts) > 0
	for _, id := range known {
		exists[id] = true
	}
	for _, d := range drafts {
		complete = complete && !d.unsure
		if !exists[d.job.ID] {
			exists[d.job.ID] = true
			known = append(known, d.job.ID)
		}
	}
	wanted := map[string]bool{}
	for _, id := range only {
		wanted[id] = true
		if !exists[id] && complete {
			b.flagProblem("--only", "unknown task or job "+problem.Quote(id), b.Found.Suggest(id, known, "known: "))
		}
	}
	return slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool { return !wanted[d.task.ID.S] && !wanted[d.job.ID] })
}

// sample returns n of the drafts, in their order: those whose ids have the
// smallest digests, which are the same in every run and spread over the plan.
func sample(drafts []*draft, n int) []*draft {
	if n >= len(drafts) {
		return drafts
	}
	digests := make(map[*draft]string, len(drafts))
	for _, d := range drafts {
		sum := sha256.Sum256([]byte(d.job.ID))
		digests[d] = string(sum[:])
	}
	byDigest := slices.SortedFunc(slices.Values(drafts), func(a, b *draft) int { return strings.Compare(digests[a], digests[b]) })
	for _, d := range byDigest[n:] {
		delete(digests, d)
	}
	return slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool { return digests[d] == "" })
}

// maxMissing bounds what is said of one selection.
const maxMissing = 50

// noteMissing notes for each job which of those that it needs were not selected.
func noteMissing(selected []*draft, missing func(*draft) []string) []string {
	var notes []string
	more := 0
	for _, d := range selected {
		without := missing(d)
		switch {
		case len(without) == 0:
		case len(notes) == maxMissing:
			more++
		case len(without) == 1:
			notes = append(notes, fmt.Sprintf("job %s runs although job %s, which it needs, is not selected", d.job.ID, without[0]))
		default:
			notes = append(notes, fmt.Sprintf("job %s runs although jobs %s, which it needs, are not selected", d.job.ID, shortList(without)))
		}
	}
	switch {
	case more == 1:
		notes = append(notes, "1 more job runs although jobs that it needs are not selected")
	case more > 1:
		notes = append(notes, fmt.Sprintf("%d more jobs run although jobs that they need are not selected", more))
	}
	return notes
}

// shortList names a few and counts the rest.
func shortList(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
