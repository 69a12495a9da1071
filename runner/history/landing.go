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
	Untrusted *event.Untrusted // that it has read first; nil for nothing
}

// Add adds an event of the job.
func (l *Landing) Add(e event.Event) {
	if add, ok := landings.Find(&e); ok {
		add(l, e)
	}
}

var landings = event.Walk[func(*Landing, event.Event)]{
	On: map[event.Type]func(*Landing, event.Event){
		event.JobStarted: func(l *Landing, e event.Event) { *l = Landing{Start: e.JobStart} },
		event.Committed: func(l *Landing, e event.Event) {
			if l.Commit == nil || l.Commit.Hash != e.Commit.Hash { // a process that only pushes it knows less
				l.Commit = e.Commit
			}
		},
		event.UntrustedRead:      func(l *Landing, e event.Event) { l.Untrusted = e.Untrusted },
		event.CommitPublished:    func(l *Landing, e event.Event) { l.Published = e.Published },
		event.PullRequestStarted: func(l *Landing, _ event.Event) { l.Announced = true },
		event.JobEnded:           func(l *Landing, e event.Event) { l.End, l.Ended = e.JobEnd, e.Time },
		event.Reverted: func(l *Landing, e event.Event) {
			if e.Revert.Commit != "" {
				l.Reverted = e.Revert.Commit
			}
		},
	},
	Ignores: []event.Type{
		event.RunStarted, event.PhaseStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.BaselineEnded, event.ScriptEnded,
		event.SessionStarted, event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.TurnStarted, event.ModelText, event.RequestRetried, event.CallUpdated, event.TurnEnded,
		event.Pruned, event.Compacted, event.SessionEnded, event.VerifyEnded, event.FilesLeft, event.ChangesFound, event.CommitStarted, event.PublishStarted,
		event.CommentStarted, event.CommentPosted, event.ForgeRequestStarted, event.ForgeRequestEnded, event.NetworkRequested, event.ExtensionChanged, event.RevertStarted, event.WarningIssued, event.RunEnded,
		event.Sealed,
		event.AblationStarted, event.TrialEnded, event.AblationEnded,
	},
}
