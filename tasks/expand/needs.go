package expand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// maxLinks bounds the needs of all jobs together.
const maxLinks = 1_000_000

// checkNeeds records needs of tasks that do not exist, and circles.
func (b *builder) checkNeeds() {
	ids := slices.Sorted(maps.Keys(b.byID))
	for _, t := range b.all() {
		for _, n := range t.Needs {
			if b.byID[n.S] == nil && b.complete {
				n.Problem("unknown task "+problem.Quote(n.S), n.Src.Found.Suggest(n.S, ids, "known tasks: "))
			}
		}
	}
	state := map[*manifest.Task]progress{}
	for _, t := range b.all() {
		b.circles(t, nil, state)
	}
}

// progress is the state of a task in the search for circles.
type progress int

const (
	unseen progress = iota
	open            // its needs are being followed
	done
)

// circles follows the needs of a task and records where they come back to one
// of those that led here.
func (b *builder) circles(t *manifest.Task, chain []*manifest.Task, state map[*manifest.Task]progress) {
	if state[t] != unseen {
		return
	}
	state[t] = open
	chain = append(chain, t)
	for _, n := range t.Needs {
		next := b.byID[n.S]
		switch {
		case next == nil:
		case state[next] == open:
			var ids []string
			for _, c := range append(slices.Clone(chain[slices.Index(chain, next):]), next) {
				ids = append(ids, c.ID.S)
			}
			n.Problem("circular needs: "+strings.Join(ids, " -> "), "remove one of them")
		default:
			b.circles(next, chain, state)
		}
	}
	state[t] = done
}

// work is a task on a repository; on "", wherever it is.
type work struct {
	task *manifest.Task
	repo string
}

// connect gives each selected draft the ids of those that it needs: the drafts
// of a needed task on the same repository, or all of them if the task does not
// work there. Jobs that are not selected are not waited for; the notes name them.
func (b *builder) connect(drafts, selected []*draft) (notes []string) {
	ids := map[work][]string{}
	for _, d := range drafts {
		for _, repo := range []string{d.repo.ID, ""} {
			ids[work{d.task, repo}] = append(ids[work{d.task, repo}], d.job.ID)
		}
	}
	chosen := make(map[string]bool, len(selected))
	for _, d := range selected {
		chosen[d.job.ID] = true
	}
	needs, missing := map[work][]string{}, map[work][]string{}
	links := 0
	for _, d := range selected {
		at := work{d.task, d.repo.ID}
		if _, ready := needs[at]; !ready {
			needs[at], missing[at] = repolist.Partition(b.neededAt(at, ids), func(id string) bool { return chosen[id] })
		}
		d.job.Needs = needs[at]
		if links += len(d.job.Needs); links > maxLinks {
			d.task.Problem(fmt.Sprintf("needs result in more than %d dependencies between jobs", maxLinks), "split the plan")
			return nil
		}
	}
	return noteMissing(selected, func(d *draft) []string { return missing[work{d.task, d.repo.ID}] })
}

// neededAt returns the ids of all jobs that a task needs on one repository, in
// order and each once.
func (b *builder) neededAt(at work, ids map[work][]string) []string {
	var all []string
	for _, n := range at.task.Needs {
		on := work{b.byID[n.S], at.repo}
		if len(ids[on]) == 0 {
			on.repo = ""
		}
		all = append(all, ids[on]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
