package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/inspection"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/runner/taskscript"
	"github.com/millhand/millhand/runner/trials"
	"github.com/millhand/millhand/tools/change"
)

// work is the session phase of one job: its sessions, and what they share.
type work struct {
	job        *Job
	site       *site.Site
	tree       *change.Tracker
	budget     *money.Budget // of the job
	sessions   sessions
	baseline   []event.Baseline // of the verify commands, before the agent started
	saver      *saver           // of the job's own session; nil before it is opened
	extensions *extensions
	reviews    *reviews    // of the changes; nil for none
	escalation *escalation // to other models
	trials     trials.Results
	result     ending.Result

	attemptsBefore int // a follow-up prompt has attempts of its own

	before  event.Totals // of sessions before the job was started again; they count for its cost only
	unsaved bool         // a checkpoint failed

	unfinished map[string]*continuation // children whose requests are repeated, by name; guarded by sessions.mu
	childTree  string                   // state after the last turn of one of them that has changed files; "" for none

	scriptText string // for the first prompt: the result of a script that failed; "" for none

	continued bool // an earlier process, or another run, began the conversation
}

// searchMemory is the memory in bytes that parallel jobs share to search their files again
// at a lower cost. 2,000 files need 700 KB.
const searchMemory = 4 << 20

func newWork(j *Job, s *site.Site) *work {
	w := &work{job: j, site: s, extensions: &extensions{job: j, site: s}, tree: change.New(searchMemory / max(j.Plan.Parallel, 1)), budget: j.run.budget.Child("job budget", j.Spec.Limits.CostUSD)}
	s.Diff.Tree = w.tree
	if s.OpenedBeside() {
		w.tree.Written() // nothing has run in it so far
	}
	w.sessions.earlier = map[string]event.Totals{}
	if usd := j.History.Charged(); usd > 0 {
		w.budget.SpentBefore(usd)
	}
	w.trials, w.escalation = trials.Earlier(j.History.Facts), newEscalation(w)
	w.escalation.recall()
	return w
}

// Work is the session phase. The result is never nil.
func (j *Job) Work(ctx context.Context, s *site.Site, baseline []event.Baseline) (*ending.Result, *ending.Stop) {
	ctx, cancel := j.TimeLimit.In(ctx)
	defer cancel()
	w := newWork(j, s)
	w.baseline = baseline
	end := w.attempts(ctx)
	w.result.Totals, w.result.Models = w.before.Plus(w.sessions.totals()), w.escalation.modelCosts()
	return &w.result, end
}

// attempts runs attempts, each followed by the verify commands, whose output goes back
// to the same conversation while attempts are left.
func (w *work) attempts(ctx context.Context) (end *ending.Stop) {
	if end := w.checkForked(); end != nil {
		return end
	}
	from, err := w.resume()
	if err != nil {
		return &ending.Stop{Code: event.CodeInternal, Detail: fmt.Sprintf("resume the job: %v", err)}
	}
	w.escalation.recall()
	if w.continued = from != nil || w.escalation.last() != nil; w.continued {
		w.job.refused.Recall(w.job.Spec.Profile, w.job.History.Facts)
	}
	w.site.Touched = w.site.Touched || w.continued
	if end := w.escalation.mark(ctx); end != nil {
		return end
	}
	if end := restore(ctx, w, from); end != nil {
		return end
	}
	if w.job.Spec.Script != nil && !w.continued && w.job.History.RunsScript() {
		did, end := taskscript.Script{Inspection: w.inspection(), Options: w.job.opts}.Try(ctx)
		w.result.Final, w.result.Hunks, w.scriptText = did.Final, did.Hunks, did.Prompt
		if did.Done || end != nil {
			return end
		}
	}
	if end := w.job.CheckTrust(); end != nil {
		return end
	}
	w.extensions.watchUntrusted()
	defer w.extensions.close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if end := w.extensions.start(ctx, fail); end != nil {
		return end
	}
	if end := w.job.instructions(w.site).WaitForFiles(); end != nil {
		return end
	}
	main, err := w.openSession(ctx, w.job.ownSpec(), from)
	if err != nil {
		return sessionFailed(err)
	}
	defer func() { main.close() }()
	defer w.sessions.closeChildren()
	text := w.firstPrompt(from)
	if w.escalation.begins(from) {
		if text, end = w.escalation.prompt(ctx, main); end != nil {
			return end
		}
	}
	w.reviews = newReviews(w)
	for {
		failed, end := w.try(ctx, main, text)
		if end == nil || !w.escalation.follows(failed) {
			return end
		}
		if end := main.checkScript(); end != nil {
			return end
		}
		if main, text, end = w.escalation.next(ctx, main, end, failed); end != nil {
			return end
		}
	}
}

// try runs attempts of one model until they are used up. failed describes what failed for the next model; "" if another one can't
// do better.
func (w *work) try(ctx context.Context, main *open, text string) (failed string, end *ending.Stop) {
	for {
		var last session.End
		if text == "" {
			last = main.resume(ctx)
		} else if last, end = w.attempt(ctx, main, text); end != nil {
			main.last = session.End{Code: end.Code, Reason: end.Detail}
			return "", end
		}
		w.idle(ctx, last)
		needless := needsNoFiles(w) && w.site.Waive()
		Take(w.job.Spec, last, &w.result)
		if end := ending.OfSession(ctx, last); end != nil {
			if end.Code == event.CodeRunBudget && main.Totals().Turns == 0 {
				end.Code = event.CodeBudget // as if it had not been begun, which is a matter of moments
			}
			w.job.run.refuse(w.job.Spec, end)
			return ofModel(last, end), end
		}
		if end := w.site.WaitFor(); end != nil {
			return "", end
		}
		noteFound(ctx, w)
		if needless {
			return "", w.checkScripts(main)
		}
		w.extensions.set.Pause() // nothing changes files while they are verified
		found, end := w.inspection().Faults(ctx, main.spec.task.Profile, w.result.Attempts)
		w.result.Hunks = found.Hunks
		switch {
		case end != nil:
			return "", end
		case found.None():
			if text, end = w.reviews.hold(ctx, found.Ran); text == "" || end != nil {
				return w.reviews.rejection(end), cmp.Or(end, w.checkScripts(main))
			}
			continue
		case w.result.Attempts-w.attemptsBefore < w.job.Spec.Attempts+w.reviews.more():
			text = found.Feedback(w.job.opts.Dir)
			main.SetProfile(found.Returned(main.spec.task.Profile, w.site.Below))
			continue
		}
		if end := w.inspection().Stop(found, w.result.Attempts); end != nil {
			return found.Feedback(w.job.opts.Dir), end
		}
		return "", w.checkScripts(main) // the commit fails
	}
}

// needsNoFiles reports whether nothing needs the worktree of the job, which is still being made: its session has ended
// without a call, and nothing else reads or changes files, or shows them to the user later.
func needsNoFiles(w *work) bool {
	s := w.site
	return !s.Complete() && !s.InPlace && w.sessions.totals().Calls == 0 && w.extensions.none() &&
		w.job.Start.Onto.Commit == "" && !w.job.opts.Keep
}

// idle informs the plugins that the main session waits for what verify finds.
func (w *work) idle(ctx context.Context, last session.End) {
	failure := ""
	if !last.Done() {
		failure = last.Reason
	}
	w.extensions.set.Idle(ctx, w.job.SessionID(w.job.Spec.ID), failure)
}

// attempt starts an attempt and runs the session with its prompt.
func (w *work) attempt(ctx context.Context, main *open, text string) (last session.End, end *ending.Stop) {
	w.result.Attempts++
	w.result.Hunks = nil
	w.site.Touched = true
	w.site.Diff.Keep(nil)
	first := w.result.Attempts == 1 && !w.continued
	if !first {
		if text != w.job.History.Asked() {
			w.site.Sandboxes.ReadOutput("command", true)
		}
		text = main.prompted(ctx, text) // before the event, which a resumed run compares with the conversation
	}
	w.job.Emit(event.Event{Type: event.AttemptStarted, Session: w.job.SessionID(w.job.Spec.ID), Attempt: &event.Attempt{Number: w.result.Attempts, Prompt: text}})
	if first {
		if text == w.job.Spec.Prompt { // not another one, of a fork
			if text, end = main.taskPrompt(ctx, w.job, w.site); end != nil {
				return last, end
			}
			var of string
			if of, end = w.job.ContextText(ctx); end != nil {
				return last, end
			}
			text += of
		}
		baseline := commands.BaselineText(w.baseline, w.job.opts.Dir)
		w.site.Sandboxes.ReadOutput("command", baseline+w.scriptText != "")
		text = main.prompted(ctx, text+baseline+landing.Scope(w.job.Spec.Change)+w.scriptText)
	}
	return main.run(ctx, text), nil
}

// firstPrompt returns the prompt of the next attempt, "" to continue the attempt that an
// earlier process started.
func (w *work) firstPrompt(from *continuation) string {
	saved := history.Conversation{Saved: from != nil}
	if from != nil {
		saved.Last, saved.Prompts = from.state.Messages[len(from.state.Messages)-1].ID, from.state.Prompts()
	}
	next := w.job.History.Next(saved, w.job.Spec.Prompt)
	w.result.Attempts, w.attemptsBefore = next.Attempts, next.Before
	if last := w.escalation.last(); last != nil {
		w.attemptsBefore = max(w.attemptsBefore, last.Attempt)
		if from == nil {
			w.result.Attempts = last.Attempt
		}
	}
	if next.Copied {
		w.job.Emit(event.Event{Type: event.AttemptStarted, Session: w.job.SessionID(w.job.Spec.ID), Attempt: &event.Attempt{Number: next.Attempts}})
	}
	switch {
	case next.Scripted:
		return taskscript.Followed(w.job.Spec.Prompt) + next.Prompt
	case next.Reset:
		return strings.TrimSpace(w.job.Spec.Prompt) + "\n\n" + next.Prompt
	}
	return next.Prompt
}

// inspection returns what is inspected after an attempt.
func (w *work) inspection() inspection.Of {
	return inspection.Of{Job: w.job.Job, Site: w.site, Trials: w.trials, Alone: w.extensions.none()}
}

// checkScripts checks that the sessions used all turns of scripted models.
func (w *work) checkScripts(main *open) *ending.Stop {
	for _, s := range append([]*open{main}, w.sessions.children()...) {
		if end := s.checkScript(); end != nil {
			return end
		}
	}
	return nil
}
