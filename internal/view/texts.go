package view

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
)

// logged is an event with what its text depends on.
type logged struct {
	event.Event
	state *state
	at    directories
}

// texts are the entries of events.
var texts = event.Walk[func(logged) entry]{
	On: map[event.Type]func(logged) entry{
		event.RunStarted: func(e logged) entry { return info("%s", runText(e.Run)) },
		event.JobStarted: func(e logged) entry {
			return info("workspace %s, sandbox %s", e.JobStart.Workspace, e.JobStart.Sandbox.Level)
		},
		event.PhaseStarted: func(e logged) entry { return phaseStarted(e.Phase) },
		event.PhaseEnded: func(e logged) entry {
			return debug("phase %s took %s", e.Phase.Name, figures.Duration(e.Phase.ElapsedMS))
		},
		event.CommandStarted:  func(e logged) entry { return starts(commandText(e.Command)) },
		event.CommandEnded:    func(e logged) entry { return commandEntry(e.Command) },
		event.BaselineEnded:   func(e logged) entry { return baselineEntry(e.Baseline, e.at) },
		event.ScriptEnded:     func(e logged) entry { return scriptEntry(e.Script) },
		event.AttemptStarted:  func(e logged) entry { return attemptEntry(e.Attempt) },
		event.TurnStarted:     func(logged) entry { return starts("model request") },
		event.ModelText:       func(e logged) entry { return modelEntry(e.Text) },
		event.RequestRetried:  func(e logged) entry { return retryEntry(e.Retry) },
		event.CallUpdated:     func(e logged) entry { return callEntry(e.Call) },
		event.TurnEnded:       func(e logged) entry { return turnEntry(e.Turn) },
		event.Pruned:          func(e logged) entry { return pruneEntry(e.Prune) },
		event.Compacted:       func(e logged) entry { return compactionEntry(e.Compaction) },
		event.VerifyEnded:     func(e logged) entry { return verifyEntry(e.Verify, e.at) },
		event.AblationStarted: func(e logged) entry { return ablationEntry(e.Ablation) },
		event.TrialEnded:      func(e logged) entry { return trialEntry(e.Trial) },
		event.AblationEnded:   func(e logged) entry { return hunksEntry(e.Hunks) },
		event.ChangesFound:    func(e logged) entry { return changesEntry(e.Event) },
		event.CommitStarted:   func(e logged) entry { return debug("committing on %s", e.Commit.Branch) },
		event.Committed:       func(e logged) entry { return info("committed %.10s on %s", e.Commit.Hash, e.Commit.Branch) },
		event.ModelEscalated: func(e logged) entry {
			return warning("%s failed: %s; continuing with %s", e.Escalation.From, e.Escalation.Reason, e.Escalation.To)
		},
		event.ReviewEnded: func(e logged) entry { return reviewEntry(e.Review) },
		event.PublishStarted: func(e logged) entry {
			return debug("pushing %.10s to %s on %s", e.Published.Hash, e.Published.Branch, e.Published.Remote)
		},
		event.CommitPublished: func(e logged) entry { return publishedEntry(e.Published) },
		event.PullRequestStarted: func(e logged) entry {
			return debug("publishing the pull request for %s on %s", e.Published.Branch, e.Published.Remote)
		},
		event.CommentStarted: func(e logged) entry {
			return debug("commenting on %s %d of %s", threadText(e.Comment), e.Comment.Number, e.Comment.Remote)
		},
		event.CommentPosted:    func(e logged) entry { return commentEntry(e.Comment) },
		event.JobEnded:         func(e logged) entry { return endEntry(e.Event, e.state, e.at) },
		event.NetworkRequested: func(e logged) entry { return networkEntry(e.Network) },
		event.UntrustedRead:    func(e logged) entry { return untrustedEntry(e.Untrusted) },
		event.WarningIssued:    func(e logged) entry { return warning("%s", e.Warning.Message) },
		event.RunEnded:         func(e logged) entry { return runEntry(e.RunEnd) },

		event.ForgeRequestStarted: func(e logged) entry { return debug("request: %s", e.ForgeRequest.What()) },
		event.ForgeRequestEnded:   func(e logged) entry { return requestEntry(e.ForgeRequest) },
	},
	Ignores: []event.Type{
		event.SessionStarted, event.SessionEnded, event.FilesLeft, event.ExtensionChanged, event.RevertStarted, event.Reverted, event.Sealed,
	},
}
