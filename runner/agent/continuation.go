package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
)

// continuation is the state of a session that an earlier process began.
type continuation struct {
	state  *journal.State
	totals event.Totals
	ended  int // last turn whose usage is in totals
}

// resume reads what earlier processes saved of the job's sessions, and reports the turns
// whose responses were lost. The job's own session continues from the result, which is nil
// if it starts with its first prompt.
func (w *work) resume() (*continuation, error) {
	past := w.job.History
	if past.Facts == nil {
		return nil, nil
	}
	again := past.NewSession()
	w.sessions.started = max(len(past.Sessions)-1, 0)
	if past.Fork != nil {
		w.sessions.started += past.Fork.Children
	}
	own, review := w.job.SessionID(w.job.Spec.ID), w.job.SessionID(event.ReviewSession(w.job.Spec.ID))
	var main *continuation
	for _, id := range slices.Sorted(maps.Keys(past.Sessions)) {
		file := strings.TrimPrefix(id, w.job.SessionID(""))
		state, torn, err := savedsession.Read(w.job.opts.Dir, file)
		if err != nil {
			return nil, err
		}
		if torn > 0 {
			w.job.Warn(fmt.Sprintf("the last line of %s is incomplete (%s) and was removed", savedsession.Path(file), figures.Count(torn, "byte")))
			if err := savedsession.Cut(w.job.opts.Dir, file, torn); err != nil {
				return nil, err
			}
		}
		totals, ended := past.Sessions[id].Totals()
		continued := 0
		switch {
		case id != own && !again && (main.continues(state, w.unfinished, rebasedAfter(w.job, main)) || id == review && state != nil && len(state.Messages) > 0):
			if continued, err = w.keepUnfinished(file, &continuation{state, totals, ended}); err != nil {
				return nil, err
			}
		case id == own && state != nil && !again && w.escalation.owns(state):
			if past.Reverted != nil {
				if err := state.Revert(past.Reverted.Turn); err != nil {
					return nil, err
				}
			}
			if err := state.Resume(w.site.Saved().Has); err != nil {
				return nil, err
			}
			continued = (&continuation{state: state}).continued()
		}
		w.job.endLost(id, past.Sessions[id], state, continued)
		if totals, ended = past.Sessions[id].Totals(); w.unfinished[file] != nil { // with the lost turns
			w.unfinished[file].totals, w.unfinished[file].ended = totals, ended
		}
		switch {
		case again:
			w.before = w.before.Plus(totals)
		case id != own:
			w.sessions.earlier[id] = totals
		case w.escalation.last() != nil && (state == nil || len(state.Messages) == 0 || !w.escalation.owns(state)):
			w.sessions.earlier[id] = totals // of the models before
		case state != nil && len(state.Messages) > 0:
			main = &continuation{state, totals, ended}
		default:
			w.before = w.before.Plus(totals)
		}
	}
	failpoint.Hit(failpoint.ResumeSessions, "")
	return main, nil
}

// firstTurn returns the number of turns before the first one of a session: those before
// the job was started again.
func (w *work) firstTurn(s sessionSpec, from *continuation) int {
	if s.name == w.job.Spec.ID && w.escalation.turns > 0 {
		return w.escalation.turns
	}
	if w.job.History.Facts == nil {
		return 0
	}
	past := w.job.History.Sessions[w.job.SessionID(s.name)]
	switch {
	case past == nil:
		return 0
	case from != nil:
		return past.Copied
	}
	return past.Last()
}

// endLost ends the turns of a session that a kill interrupted, except the one that is
// continued: with the usage of their response if it was saved, otherwise with an estimate.
func (j *Job) endLost(id string, past *history.Session, state *journal.State, continued int) {
	for _, number := range past.Lost(continued) {
		end := history.LostTurn(past.Started(number))
		if r := responseOf(state, number); r != nil {
			end.Model, end.Finish, end.Usage, end.CostUSD, end.Lost, end.ElapsedMS = r.Model, r.Finish, r.Usage, r.CostUSD, r.Lost, r.ElapsedMS
		}
		ended := event.Event{Type: event.TurnEnded, Session: id, Turn: &end}
		j.History.Add(ended)
		j.Emit(ended)
	}
}

// responseOf returns the end of a turn whose response was saved; nil if it was not.
func responseOf(state *journal.State, turn int) *event.Turn {
	if state == nil {
		return nil
	}
	for _, e := range slices.Backward(state.History) {
		if e.Message != nil && e.Message.Response != nil && e.Message.Response.Number == turn {
			return e.Message.Response
		}
	}
	return nil
}

// restore gives the worktree of a job that is resumed the state of the last complete turn,
// or that it started from, with what others than the agent left in it.
func restore(ctx context.Context, w *work, from *continuation) *ending.Stop {
	if err := w.restoreTree(ctx, from); err != nil {
		if ctx.Err() != nil {
			return ending.Of(ctx)
		}
		return ending.Fault(event.CodeRepository, err)
	}
	if past := w.job.History.Facts; from != nil || w.escalation.last() != nil || past != nil && past.Fork != nil {
		return w.site.Diff.Recall(ctx, past)
	}
	return nil
}

func (w *work) restoreTree(ctx context.Context, from *continuation) error {
	tree := ""
	if from != nil {
		tree = from.state.Tree()
	}
	tree = cmp.Or(w.childTree, tree, w.escalation.tree(), w.job.History.FirstTree())
	if rebasedAfter(w.job, from) {
		return applyRebase(ctx, w.job.Start.Onto, w.site)
	}
	if tree == "" {
		return nil
	}
	if w.site.InPlace {
		if err := w.site.KeepReplaced(ctx, tree); err != nil {
			return err
		}
	}
	if err := w.site.Saved().Restore(ctx, tree, w.site.Below); err != nil {
		return err
	}
	failpoint.Hit(failpoint.ResumeRestored, "")
	return nil
}

// checkForked checks that the files of a fork can be restored.
func (w *work) checkForked() *ending.Stop {
	past := w.job.History
	if past.Facts == nil || past.Fork == nil || past.Fork.Tree == "" || w.site.Saved().Has(past.Fork.Tree) {
		return nil
	}
	return &ending.Stop{Code: event.CodeRepository, Detail: fmt.Sprintf("the files of turn %d can't be restored: objects of their saved state are missing", past.Fork.Turn)}
}
