// Package trailers is how runs and their evidence recognise commits: what the trailers of a message say about the run
// and the job that made it. Packages landing and savedjob write them by the same keys. It knows neither repositories nor plans.
package trailers

import (
	"slices"
	"strings"
)

// Key is the key of a trailer.
type Key string

// The trailers of a run's commits.
const (
	Run      Key = "Millhand-Run"      // the id of the run; it is the first one
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

// Trailers are those of a commit, by key.
type Trailers map[Key]string

// Read reads the trailers of a message: those that a run has appended. As for git, only the last paragraph has
// trailers, and not the first one, which is the subject; indented lines continue others. Text of a task or of a comment
// that looks like trailers must not be a claim about the commit: in a paragraph that had trailers before, those
// from the last Millhand-Run on count, and the last one of a key.
func Read(message string) Trailers {
	_, own := split(message)
	t := Trailers{}
	each(own, func(k Key, value string) { t[k] = value })
	return t
}

// each calls found with each trailer in a text, in their order.
func each(text string, found func(k Key, value string)) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		if slices.Contains(keys, Key(key)) && (value == "" || value[0] == ' ' || value[0] == '\n') {
			found(Key(key), strings.TrimSpace(value))
		}
	}
}

// split divides a message before the trailers that a run has appended.
func split(message string) (above, own string) {
	message = strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	at := strings.LastIndex(message, "\n\n")
	if at < 0 {
		return message, ""
	}
	at++ // the line before the paragraph
	if run := strings.LastIndex(message[at:], "\n"+Run.Of("")); run >= 0 {
		return message[:at+run], message[at+run+1:]
	}
	return message, message[at:]
}

// Above returns the text of a message that a run made, without the trailers.
func Above(message string) string {
	above, _ := split(message)
	return strings.TrimSpace(above)
}

// Contains reports whether a message has a trailer of a run's commit anywhere: that of a commit which combines others
// has theirs, and what forges and people add can follow. It is for what is less trusted if a run made it.
func Contains(message string) bool {
	ours := false
	each(message, func(k Key, _ string) { ours = ours || k == Task })
	return ours
}

// Has reports whether a trailer has a value.
func (t Trailers) Has(k Key, value string) bool {
	found, ok := t[k]
	return ok && found == strings.TrimSpace(value)
}

// Ours reports whether any run made the commit.
func (t Trailers) Ours() bool { return t.has(Task) }

// Unfinished reports whether the commit has the partial work of a job that did not finish.
func (t Trailers) Unfinished() bool { return t.has(Outcome) }

func (t Trailers) has(k Key) bool {
	_, ok := t[k]
	return ok
}

// MadeFor reports whether a run made the commit for a job.
func (t Trailers) MadeFor(run, job string) bool { return t.Has(Run, run) && t.Has(Job, job) }

// Finishes reports whether the commit is the finished work with a hash.
func (t Trailers) Finishes(task string) bool { return t.Has(Task, task) && !t.Unfinished() }
