package history

import (
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// Publishable is what has become of the changes of a job since it was started last: all that publishing it later needs. Its
// zero value is that of a job without events.
type Publishable struct {
	Start     *event.JobStart      // nil if it did not start
	End       *event.JobEnd        // nil if it did not end
	Ended     time.Time            // zero if it did not end
	Commit    *event.Commit        // nil without one
	Published *event.Published     // of the last push; nil for none
	Announced bool                 // its pull request
	Reverted  string               // commit of the last revert; "" for none
	Untrusted *event.Untrusted     // that it has read first; nil for nothing
	Commented bool                 // its final message was posted
	Requested []event.ForgeRequest // of its agent, with what became of them
}

// Add adds an event of the job.
func (p *Publishable) Add(e event.Event) {
	if add, ok := publishables.Find(&e); ok {
		add(p, e)
	}
}

var publishables = event.Walk[func(*Publishable, event.Event)]{
	On: map[event.Type]func(*Publishable, event.Event){
		event.JobStarted: func(p *Publishable, e event.Event) {
			made := slices.DeleteFunc(p.Requested, func(r event.ForgeRequest) bool { return r.Outcome != event.RequestDone })
			*p = Publishable{Start: e.JobStart, Requested: made}
		},
		event.CommentPosted:     func(p *Publishable, _ event.Event) { p.Commented = true },
		event.ForgeRequestEnded: (*Publishable).requested,
		event.Committed: func(p *Publishable, e event.Event) {
			if p.Commit == nil || p.Commit.Hash != e.Commit.Hash { // a process that only pushes it knows less
				p.Commit = e.Commit
			}
		},
		event.UntrustedRead:      func(p *Publishable, e event.Event) { p.Untrusted = e.Untrusted },
		event.CommitPublished:    func(p *Publishable, e event.Event) { p.Published = e.Published },
		event.PullRequestStarted: func(p *Publishable, _ event.Event) { p.Announced = true },
		event.JobEnded:           func(p *Publishable, e event.Event) { p.End, p.Ended = e.JobEnd, e.Time },
		event.Reverted: func(p *Publishable, e event.Event) {
			if e.Revert.Commit != "" {
				p.Reverted = e.Revert.Commit
			}
		},
	},
	Ignores: []event.Type{
		event.RunStarted, event.PhaseStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.BaselineEnded, event.ScriptEnded,
		event.SessionStarted, event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.TurnStarted, event.ModelText, event.RequestRetried, event.CallUpdated, event.TurnEnded,
		event.Pruned, event.Compacted, event.SessionEnded, event.VerifyEnded, event.FilesLeft, event.ChangesFound, event.CommitStarted, event.PublishStarted,
		event.CommentStarted, event.ForgeRequestStarted, event.NetworkRequested, event.ExtensionChanged, event.RevertStarted, event.WarningIssued, event.RunEnded,
		event.Sealed,
		event.AblationStarted, event.TrialEnded, event.AblationEnded,
	},
}

// requested adds a request of the agent, or what became of it since.
func (p *Publishable) requested(e event.Event) {
	at := slices.IndexFunc(p.Requested, func(r event.ForgeRequest) bool { return r.ID == e.ForgeRequest.ID })
	if at < 0 {
		p.Requested = append(p.Requested, *e.ForgeRequest)
		return
	}
	p.Requested[at] = *e.ForgeRequest
}
