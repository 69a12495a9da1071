package history

import (
	"time"

	"github.com/millhand/millhand/internal/event"
)

// Landing is what has become of the changes of a job since it was started last: all that publishing it later needs. Its
// zero value is that of a job without events.
type Landing struct {
	Start     *event.JobStart  // nil if it did not start
	End       *event.JobEnd    // nil if it did not end
	Ended     time.Time        // zero if it did not end
	Commit    *event.Commit    // nil without one
	Published *event.Published // of the last push; nil for none
	Announced bool             // its pull request
	Reverted  string           // commit of the last revert; "" for none
}

// Add adds an event of the job.
func (l *Landing) Add(e event.Event) {
	switch {
	case e.JobStart != nil:
		*l = Landing{Start: e.JobStart}
	case e.JobEnd != nil:
		l.End, l.Ended = e.JobEnd, e.Time
	case e.Type == event.Committed && e.Commit != nil:
		if l.Commit == nil || l.Commit.Hash != e.Commit.Hash { // a process that only pushes it knows less
			l.Commit = e.Commit
		}
	case e.Type == event.CommitPublished && e.Published != nil:
		l.Published = e.Published
	case e.Type == event.PullRequestStarted:
		l.Announced = true
	case e.Type == event.Reverted && e.Revert != nil && e.Revert.Commit != "":
		l.Reverted = e.Revert.Commit
	}
}
