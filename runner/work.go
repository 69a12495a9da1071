package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/redact"
	"github.com/millhand/millhand/internal/session"
)

// work is the session: attempts at the task, each followed by its verify
// commands, whose output goes back into the same conversation while attempts
// are left.
func (j *job) work(ctx context.Context) (end *stop) {
	if j.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.Limits.Time, session.Timeout{Reason: fmt.Sprintf("the job's time of %s is over", j.Limits.Time)})
		defer cancel()
	}
	main, err := j.openSession(ctx, j.ownSeat())
	if err != nil {
		return sessionFailed(err)
	}
	var last session.End
	defer func() { main.close(last) }()
	defer j.closeChildren()
	for text := j.Prompt; ; {
		j.attempts++
		j.emit(event.Event{Type: event.AttemptStarted, Session: j.sessionID(), Attempt: &event.Attempt{Number: j.attempts, Prompt: text}})
		if j.attempts == 1 {
			if text, end = j.asked(ctx, main); end != nil {
				last = endedBy(end)
				return end
			}
		}
		last = main.Run(ctx, text)
		if last.Text != "" {
			j.final = last.Text
		}
		j.output = last.Output
		if end := stopOf(ctx, last); end != nil {
			if last.Shared && main.Totals().Turns == 0 {
				// As if it had not been begun, which is a matter of moments.
				end.outcome, end.code = event.Skipped, event.CodeBudget
			}
			j.refuse(j.Job, end)
			return end
		}
		failed, err := j.verifyAll(ctx)
		switch {
		case err != nil:
			return stopped(ctx)
		case len(failed) == 0:
			return j.asWritten(main)
		case j.attempts >= j.Attempts:
			return &stop{outcome: event.Failed, reason: fmt.Sprintf("verify %s failed after %d attempt(s)", names(failed), j.attempts), exit: event.ExitFailed}
		}
		text = feedback(failed)
	}
}

// asWritten asks scripted models, the children's too, whether the conversation
// went as it was meant to.
func (j *job) asWritten(main *open) *stop {
	for _, s := range append([]*open{main}, j.sessions.children()...) {
		if s.talk.Finish == nil {
			continue
		}
		if err := s.talk.Finish(); err != nil {
			return &stop{outcome: event.Failed, reason: err.Error(), exit: event.ExitFailed}
		}
	}
	return nil
}

func (j *job) sessionID() string { return j.RunID + "/" + j.ID }

// writeMessage adds a message to a transcript, without secrets.
func writeMessage(f *os.File, m model.Message, secrets *redact.Redactor) error {
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	_, err = f.Write(append(secrets.JSON(line), '\n'))
	return err
}
