package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/review"
	"github.com/millhand/millhand/tasks"
)

const (
	reviewTime    = 10 * time.Minute // at most half of what is left of the job's
	reviewTurns   = 30
	reviewDenials = 5
	maxHunks      = 8 << 10 // bytes about hunks in a prompt
)

// reviews are the reviews of a job's changes. All of them are one conversation with the reviewer.
type reviews struct {
	work     *work
	spec     *tasks.Review
	reviewer *open          // nil before the first review of this process
	rounds   []event.Review // that ended, for the current prompt
	budget   *money.Budget  // of the reviewer, a share of the job's
}

// newReviews returns the reviews of a job, with those of earlier processes; nil if its changes are not reviewed.
func newReviews(w *work) *reviews {
	spec, past := w.job.Spec.Review, w.job.History
	if spec == nil {
		return nil
	}
	r := &reviews{work: w, spec: spec, budget: w.budget.Child("review budget", w.job.Spec.Limits.CostUSD/2)}
	if past.Facts == nil || past.NewSession() {
		return r
	}
	for _, done := range past.Reviews {
		if done.Attempt > w.attemptsBefore {
			r.rounds = append(r.rounds, done)
		}
	}
	return r
}

// more is the number of attempts that reviews add to those of the task: objections are returned to the agent once.
func (r *reviews) more() int {
	if r == nil {
		return 0
	}
	for _, done := range r.rounds {
		if done.Verdict == event.ReviewRejected && done.Attempt < r.work.result.Attempts {
			return 1
		}
	}
	return 0
}

// hold reviews the changes of an attempt after which verify passed. It returns the prompt of another attempt if objections are
// returned to the agent.
func (r *reviews) hold(ctx context.Context, checks []commands.Ran) (feedback string, end *ending.Stop) {
	if r == nil {
		return "", nil
	}
	m, err := r.material(ctx, checks)
	switch {
	case err != nil:
		return "", ending.OfGit(ctx, "find the changes for the review", err)
	case len(m.Files) == 0:
		return "", nil
	}
	done, known := r.earlier(m)
	if !known {
		if done, end = r.ask(ctx, m); end != nil {
			return "", end
		}
		r.work.job.Emit(event.Event{Type: event.ReviewEnded, Session: r.work.job.SessionID(r.name()), Review: &done})
		r.rounds = append(r.rounds, done)
	}
	r.work.result.Review = event.LastReview(r.rounds)
	switch {
	case done.Verdict == event.ReviewRejected && r.more() == 0:
		return review.Feedback(done.Objections), nil
	case done.Verdict != event.ReviewAccepted && r.spec.Block:
		return "", &ending.Stop{Code: event.CodeReview, Detail: refusal(done)}
	}
	return "", nil
}

// rejection describes what the last review rejected; "" for another end.
func (r *reviews) rejection(end *ending.Stop) string {
	if end == nil || end.Code != event.CodeReview || r.work.result.Review.Verdict != event.ReviewRejected {
		return ""
	}
	return review.Feedback(r.work.result.Review.Objections)
}

// refusal describes a review that did not accept the changes in one line.
func refusal(done event.Review) string {
	if done.Verdict == event.NotReviewed {
		return "the changes were not reviewed: " + done.Reason
	}
	return "the review rejected the changes: " + textcut.OneLine(done.Objections[0])
}

// earlier returns the review of the same changes by an earlier process.
func (r *reviews) earlier(m review.Material) (event.Review, bool) {
	for _, done := range r.rounds {
		if done.Attempt == m.Attempt && done.Diff == m.Diff.SHA256 {
			return done, true
		}
	}
	return event.Review{}, false
}

// material returns what the reviewer is shown; without files if nothing was changed.
func (r *reviews) material(ctx context.Context, checks []commands.Ran) (m review.Material, err error) {
	w := r.work
	found, err := w.inspection().Changes(ctx)
	if err != nil || len(found.Changes.Changes) == 0 {
		return m, err
	}
	patch, _, err := landing.Patch(ctx, w.site.Tree, found.Changes, w.job.opts.Redact)
	if err != nil {
		return m, err
	}
	held := w.job.opts.Redact.Held
	m = review.Material{
		Task: held(w.job.Spec.Prompt), Asked: held(w.job.History.Asked()), Instructions: r.spec.Prompt,
		Attempt: w.result.Attempts, Diff: review.NewDiff([]byte(held(string(patch)))),
	}
	for _, c := range found.Changes.Changes {
		m.Files = append(m.Files, event.Change{Path: held(c.Path), Kind: string(c.Kind), Added: c.Added, Removed: c.Removed})
	}
	for _, c := range checks {
		m.Checks = append(m.Checks, c.Verify)
	}
	if h := w.result.Hunks; h != nil {
		lines := []string{h.Line()}
		for _, note := range h.Notes() {
			lines = append(lines, note.What+": "+note.About)
		}
		m.Hunks = textcut.Head(held(strings.Join(lines, "\n")), maxHunks, "\n(and more)")
	}
	for _, done := range r.rounds {
		if done.Attempt < m.Attempt && done.Verdict == event.ReviewRejected {
			m.Before = done.Objections
		}
	}
	return m, nil
}

// ask runs the reviewer, and returns its verdict. A stop means that the job ends; whatever else goes wrong is a review
// without a verdict.
func (r *reviews) ask(ctx context.Context, m review.Material) (event.Review, *ending.Stop) {
	w := r.work
	done := event.Review{Attempt: m.Attempt, Diff: m.Diff.SHA256, Omitted: m.Diff.Omitted, Verdict: event.NotReviewed, Objections: []string{}, Model: r.sessionSpec().task.ModelName}
	limit := reviewTime
	if left := w.job.TimeLimit.Left(); left > 0 {
		limit = min(limit, left/2)
	}
	within, cancel := context.WithTimeoutCause(ctx, limit, event.EndCause{Code: event.CodeLimit, Reason: fmt.Sprintf("the review timed out after %s", limit.Round(time.Millisecond))})
	defer cancel()
	last, err := r.run(within, m)
	switch {
	case ctx.Err() != nil:
		return done, ending.Of(ctx)
	case err != nil:
		done.Reason = w.job.opts.Redact.Text(err.Error())
		return done, nil
	case !last.Done():
		r.reviewer.talk.Finish = nil // turns of a script may be left
		done.Reason = w.job.opts.Redact.Text(last.Reason)
		return done, nil
	}
	verdict, objections, err := review.Read(last.Text, last.Output)
	if err != nil {
		done.Reason = err.Error()
		return done, nil
	}
	done.Verdict = verdict
	for _, o := range objections {
		done.Objections = append(done.Objections, w.job.opts.Redact.Text(o))
	}
	return done, nil
}

// run gives the reviewer its prompt, unless an earlier process has, and returns the end of its session.
func (r *reviews) run(ctx context.Context, m review.Material) (session.End, error) {
	var err error
	var from *continuation
	if r.reviewer == nil {
		from = r.work.takeUnfinished(r.name())
		if r.reviewer, err = r.open(ctx, from); err != nil {
			return session.End{}, err
		}
	}
	if from != nil {
		if prompts := from.state.Prompts(); len(prompts) > 0 && strings.HasPrefix(prompts[len(prompts)-1], m.Header()) {
			return r.reviewer.resume(ctx), nil
		}
	}
	return r.reviewer.run(ctx, m.Prompt()), nil
}

// name is that of the reviewer's session. No job has such a name.
func (r *reviews) name() string { return event.ReviewSession(r.work.job.Spec.ID) }
