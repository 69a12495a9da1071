package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/figures"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/redact"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tools"
)

// work is the session phase of one job: its sessions, and what they share.
type work struct {
	job      *job
	site     *site
	tree     *tools.Tree
	budget   *money.Budget // of the job
	sessions sessions
	baseline []event.Baseline // of the verify commands, before the agent started
	result   result
}

// result is the result of a job's sessions.
type result struct {
	attempts int
	final    string          // the model's final message
	output   json.RawMessage // the final response, if there is an output schema
	totals   session.Totals
}

// noResult is the result of a job without a session.
func noResult() *result { return &result{totals: session.Totals{CostUSD: new(money.USD)}} }

func newWork(j *job, s *site) *work {
	return &work{job: j, site: s, tree: &tools.Tree{}, budget: j.run.budget.Child("job budget", j.spec.Limits.CostUSD)}
}

// work is the session phase. The result is never nil.
func (j *job) work(ctx context.Context, s *site, baseline []event.Baseline) (*result, *stop) {
	ctx, cancel := j.inTime(ctx, s)
	defer cancel()
	w := newWork(j, s)
	w.baseline = baseline
	end := w.attempts(ctx)
	w.result.totals = w.sessions.totals()
	return &w.result, end
}

// attempts runs attempts, each followed by the verify commands, whose output goes back
// to the same conversation while attempts are left.
func (w *work) attempts(ctx context.Context) (end *stop) {
	main, err := w.openSession(ctx, w.ownSpec())
	if err != nil {
		return sessionFailed(err)
	}
	defer main.close()
	defer w.sessions.closeChildren()
	for text := w.job.spec.Prompt; ; {
		w.result.attempts++
		w.site.touched = true
		w.job.emit(event.Event{Type: event.AttemptStarted, Session: w.job.sessionID(w.job.spec.ID), Attempt: &event.Attempt{Number: w.result.attempts, Prompt: text}})
		if w.result.attempts == 1 {
			if text, end = w.expandMentions(ctx, main); end != nil {
				main.last = session.End{Code: end.code, Reason: end.detail}
				return end
			}
			text += baselineText(w.baseline)
		}
		last := main.run(ctx, text)
		if last.Text != "" {
			w.result.final = last.Text
		}
		w.result.output = last.Output
		if end := stopOf(ctx, last); end != nil {
			if end.code == event.CodeRunBudget && main.Totals().Turns == 0 {
				end.code = event.CodeBudget // as if it had not been begun, which is a matter of moments
			}
			w.job.run.refuse(w.job.spec, end)
			return end
		}
		failed, end := w.verifyAll(ctx)
		if end != nil {
			return end
		}
		barred, refused, end := w.barred(ctx, main.spec.task.Profile)
		switch {
		case end != nil:
			return end
		case len(failed)+len(barred)+len(refused) == 0:
			return w.checkScripts(main)
		case w.result.attempts >= w.job.spec.Attempts && len(barred) > 0:
			return protected(barred)
		case w.result.attempts >= w.job.spec.Attempts && len(failed) == 0:
			return w.checkScripts(main) // the commit fails
		case w.result.attempts >= w.job.spec.Attempts:
			return &stop{code: event.CodeFailed, detail: fmt.Sprintf("verify %s failed after %s", names(failed), figures.Count(w.result.attempts, "attempt")) + w.site.verifyFault(w.job.spec.Verify, failed)}
		}
		text = feedback(failed, barred, refused)
		main.SetProfile(returned(main.spec.task.Profile, barred))
	}
}

// inTime returns a context that ends at the job's time limit, which starts when the job
// is prepared and includes setup and session.
func (j *job) inTime(ctx context.Context, s *site) (context.Context, context.CancelFunc) {
	if j.spec.Limits.Time == 0 {
		return context.WithCancel(ctx)
	}
	timeout := session.Timeout{Code: event.CodeLimit, Reason: fmt.Sprintf("job timed out after %s", j.spec.Limits.Time)}
	return context.WithDeadlineCause(ctx, s.prepared.Add(j.spec.Limits.Time), timeout)
}

// checkScripts checks that the sessions used all turns of scripted models.
func (w *work) checkScripts(main *open) *stop {
	for _, s := range append([]*open{main}, w.sessions.children()...) {
		if s.talk.Finish == nil {
			continue
		}
		if err := s.talk.Finish(); err != nil {
			return &stop{code: event.CodeFailed, detail: err.Error()}
		}
	}
	return nil
}

// sessionID returns the id of a session with a name.
func (j *job) sessionID(name string) string { return j.opts.RunID + "/" + name }

// writeMessage adds a message to a transcript, without secrets.
func writeMessage(f *os.File, m model.Message, secrets *redact.Redactor) error {
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	_, err = f.Write(append(secrets.JSON(line), '\n'))
	return err
}
