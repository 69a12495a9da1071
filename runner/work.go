package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/prompt"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tools"
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
	talk, err := j.OpenModel(j.Job, j.retried)
	if err != nil {
		return &stop{event.Provider, err.Error(), event.ExitAuth}
	}
	transcript, err := j.openTranscript()
	if err != nil {
		return &stop{event.Error, err.Error(), event.ExitInternal}
	}
	defer transcript.Close()
	if err := j.openSession(talk, transcript); err != nil {
		return &stop{event.Error, err.Error(), event.ExitInternal}
	}
	var last session.End
	defer func() { j.session.Close(last) }()
	for text := j.Prompt; ; {
		j.attempts++
		j.emit(event.Event{Type: event.AttemptStarted, Session: j.sessionID(), Attempt: &event.Attempt{Number: j.attempts, Prompt: text}})
		last = j.session.Run(ctx, text)
		if last.Text != "" {
			j.final = last.Text
		}
		if end := stopOf(ctx, last); end != nil {
			if end.exit == event.ExitAuth {
				j.refuse(j.Job, end.reason)
			}
			return end
		}
		failed, err := j.verifyAll(ctx)
		switch {
		case err != nil:
			return stopped(ctx)
		case len(failed) == 0:
			return scripted(talk)
		case j.attempts >= j.Attempts:
			return &stop{event.Failed, fmt.Sprintf("verify %s failed after %d attempt(s)", names(failed), j.attempts), event.ExitFailed}
		}
		text = feedback(failed)
	}
}

// scripted asks a conversation whether it went as it was meant to.
func scripted(talk Conversation) *stop {
	if talk.Finish == nil {
		return nil
	}
	if err := talk.Finish(); err != nil {
		return &stop{event.Failed, err.Error(), event.ExitFailed}
	}
	return nil
}

func (j *job) sessionID() string { return j.RunID + "/" + j.ID }

func (j *job) retried(attempt int, wait time.Duration, err error) {
	turn := 0
	if j.session != nil {
		turn = j.session.Totals().Turns
	}
	j.emit(event.Event{Type: event.RetryMade, Session: j.sessionID(), Retry: &event.Retry{
		Turn: turn, Attempt: attempt, WaitMS: wait.Milliseconds(), Error: err.Error(),
	}})
}

func (j *job) openTranscript() (*os.File, error) {
	path := filepath.Join(j.Dir, "sessions", j.ID+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for transcripts: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the transcript: %w", err)
	}
	return f, nil
}

// openSession makes the job's session; transcript takes its messages.
func (j *job) openSession(talk Conversation, transcript *os.File) error {
	rules, err := j.tree.IgnoreRules()
	if err != nil {
		return err
	}
	broken := false
	j.session = session.New(session.Config{
		ID: j.sessionID(), Job: j.ID, Agent: j.Agent,
		Model: talk.Model, ModelName: j.ModelName, System: j.system(),
		Tools: tools.BuiltIn(),
		Env: &tools.Env{
			Workspace: j.space, Profile: j.Profile, Ignore: rules, Todos: &tools.Todos{}, ChildEnv: j.env,
			Outputs: filepath.Join(j.Dir, "outputs", j.ID), Now: j.Now,
		},
		Limits: session.Limits{
			Turns: j.Limits.Turns, CostUSD: j.Limits.CostUSD, Tokens: j.Limits.Tokens,
			Denials: j.Limits.Denials, Failures: j.Limits.Failures,
		},
		Allow: j.ledger.allow,
		Spent: j.ledger.add,
		Transcript: func(m model.Message) {
			if err := writeMessage(transcript, m); err != nil && !broken {
				broken = true
				j.warn(fmt.Sprintf("the transcript is incomplete: %v", err))
			}
		},
		Emit: j.Emit, Now: j.Now,
	})
	return nil
}

func writeMessage(f *os.File, m model.Message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

// system writes the session's system prompt.
func (j *job) system() string {
	in := prompt.Input{Environment: prompt.Environment{
		Dir: j.space.Dir(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date: j.Now().UTC().Format(time.DateOnly), Repository: j.Repo.Name,
	}}
	for _, i := range j.Instructions {
		in.Instructions = append(in.Instructions, prompt.Text{Name: i.Path, Text: i.Text})
	}
	if notes, ok := j.repositoryNotes(); ok {
		in.Repository = append(in.Repository, notes)
	}
	return prompt.System(in)
}

// maxNotes bounds a repository's notes, in bytes.
const maxNotes = 256 << 10

// repositoryNotes reads what the repository has to say to agents: the first
// of the usual files in its root.
func (j *job) repositoryNotes() (prompt.Text, bool) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		p, err := j.space.Resolve(name)
		if err != nil || p.Outside {
			continue
		}
		text, err := j.space.ReadFile(p, maxNotes)
		if err == nil {
			return prompt.Text{Name: name, Text: strings.ToValidUTF8(string(text), "\uFFFD")}, true
		}
		if !errors.Is(err, fs.ErrNotExist) {
			j.warn(fmt.Sprintf("the repository's %s is not used: %v", name, err))
		}
	}
	return prompt.Text{}, false
}
