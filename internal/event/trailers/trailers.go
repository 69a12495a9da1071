// Package trailers is how runs recognise commits: what the trailers of a message say about the run
// and the job that made it. It knows neither repositories nor plans.
package trailers

import (
	"slices"
	"strings"
)

// Key is the key of a trailer.
type Key string

// The trailers of a run's commits.
const (
	Run      Key = "Millhand-Run"      // the id of the run
	Job      Key = "Millhand-Job"      // the id of the job
	Task     Key = "Millhand-Task"     // a hash of the work, which is the same in every run; each commit of a run has it
	Outcome  Key = "Millhand-Outcome"  // of a job that did not finish
	Rollout  Key = "Millhand-Rollout"  // the name of a manifest that has a rollout
	Reverts  Key = "Millhand-Reverts"  // the commit that another one reverts
	Evidence Key = "Millhand-Evidence" // the hash of the last event of the job before the commit
)

var keys = []Key{Run, Job, Task, Outcome, Rollout, Reverts, Evidence}

// Of returns a trailer, without the end of its line.
func (k Key) Of(value string) string { return string(k) + ": " + value }

// Trailers are those of a commit, which has several of a key if it combines several commits.
type Trailers map[Key][]string

// Read reads the trailers of a message. Indented ones are quoted: they are not the commit's own.
func Read(message string) Trailers {
	t := Trailers{}
	for line := range strings.Lines(message) {
		for _, k := range keys {
			value, found := strings.CutPrefix(line, string(k)+":")
			if text := strings.TrimSpace(value); found && (text == "" || value[0] == ' ') {
				t[k] = append(t[k], text)
			}
		}
	}
	return t
}

// Has reports whether a trailer has a value.
func (t Trailers) Has(k Key, value string) bool {
	return slices.Contains(t[k], strings.TrimSpace(value))
}

// Ours reports whether any run made the commit.
func (t Trailers) Ours() bool { return len(t[Task]) > 0 }

// Unfinished reports whether the commit has the partial work of a job that did not finish.
func (t Trailers) Unfinished() bool { return len(t[Outcome]) > 0 }

// MadeFor reports whether a run made the commit for a job.
func (t Trailers) MadeFor(run, job string) bool { return t.Has(Run, run) && t.Has(Job, job) }

// Finishes reports whether the commit is the finished work with a hash.
func (t Trailers) Finishes(task string) bool { return t.Has(Task, task) && !t.Unfinished() }

// Above returns the text of a message that a run made, without the trailers.
func Above(message string) string {
	text, _, _ := strings.Cut(message, "\n"+Run.Of(""))
	return strings.TrimSpace(text)
}
