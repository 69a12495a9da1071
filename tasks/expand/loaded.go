package expand

import (
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// loaded is what was read: the manifests, and what their loader knows and collects.
type loaded struct {
	*manifest.Loader
	manifests []*manifest.Manifest
	complete  bool // no manifest is missing because its file is broken
}

// all returns the tasks of all manifests in order.
func (l *loaded) all() []*manifest.Task {
	var all []*manifest.Task
	for _, m := range l.manifests {
		all = append(all, m.Tasks...)
	}
	return all
}

// flagProblem records a mistake on the command line.
func (l *loaded) flagProblem(flag, what, fix string) {
	l.Found.Add(problem.Problem{File: flag, What: what, Fix: fix})
}

// lower returns the smaller of two limits; 0 is no limit.
func lower[T int | money.USD | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
