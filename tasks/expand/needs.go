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

// taskGraph are the tasks by their ids, and what they need.
type taskGraph struct {
	*loaded
	byID map[string]*manifest.Task
}

// newTaskGraph finds the tasks by their ids, which must differ, and in more than case:
// they become the names of files.
func newTaskGraph(l *loaded) *taskGraph {
	g := &taskGraph{l, map[string]*manifest.Task{}}
	folded := map[string]*manifest.Task{}
	for _, t := range g.all() {
		if t.ID.S == "" {
			continue
		}
		first := folded[strings.ToLower(t.ID.S)]
		switch {
		case first == nil:
			t.Unique = true
			folded[strings.ToLower(t.ID.S)] = t
		case first.ID.S == t.ID.S:
			t.ID.Problem(fmt.Sprintf("duplicate task id %s, first at %s", problem.Quote(t.ID.S), first.ID.Position()), "rename one of the tasks")
		default:
			t.ID.Problem(fmt.Sprintf("task id %s differs from %s (%s) only in case", problem.Quote(t.ID.S), problem.Quote(first.ID.S), first.ID.Position()), "rename one of the tasks")
		}
		g.byID[t.ID.S] = t
	}
	if len(g.all()) == 0 && len(g.Found.List) == 0 {
		g.manifests[0].Problem("missing tasks", "add at least one under tasks:, with an id and a prompt")
	}
	return g
}

// checkNeeds records needs of tasks that do not exist, and circles.
func (g *taskGraph) checkNeeds() {
	ids := slices.Sorted(maps.Keys(g.byID))
	for _, t := range g.all() {
		for _, n := range t.Needs {
			if g.byID[n.S] == nil && g.complete {
				n.Problem("unknown task "+problem.Quote(n.S), n.Src.Found.Suggest(n.S, ids, "known tasks: "))
			}
		}
	}
	state := map[*manifest.Task]progress{}
	for _, t := range g.all() {
		g.circles(t, nil, state)
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
func (g *taskGraph) circles(t *manifest.Task, chain []*manifest.Task, state map[*manifest.Task]progress) {
	if state[t] != unseen {
		return
	}
	state[t] = open
	chain = append(chain, t)
	for _, n := range t.Needs {
		next := g.byID[n.S]
		switch {
		case next == nil:
		case state[next] == open:
			var ids []string
			for _, c := range append(slices.Clone(chain[slices.Index(chain, next):]), next) {
				ids = append(ids, c.ID.S)
			}
			n.Problem("circular needs: "+strings.Join(ids, " -> "), "remove one of them")
		default:
			g.circles(next, chain, state)
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
func (g *taskGraph) connect(drafts, selected []*draft) (notes []string) {
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
			needs[at], missing[at] = repolist.Partition(g.neededAt(at, ids), func(id string) bool { return chosen[id] })
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
func (g *taskGraph) neededAt(at work, ids map[work][]string) []string {
	var all []string
	for _, n := range at.task.Needs {
		on := work{g.byID[n.S], at.repo}
		if len(ids[on]) == 0 {
			on.repo = ""
		}
		all = append(all, ids[on]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
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
