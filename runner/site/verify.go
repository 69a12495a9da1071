package site

import (
	"context"
	"errors"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// MaxCommand is the maximum length in bytes of a command line in an event.
const MaxCommand = 500

// All runs all verify commands after an attempt and returns their results. What they leave in the
// workspace is not the agent's.
func (r Verifier) All(ctx context.Context, attempt int) (ran []commands.Ran, end *ending.Stop) {
	run := func(ctx context.Context) (end *ending.Stop) {
		ran, end = r.after(ctx, attempt)
		return end
	}
	if !verifiesWorkspace(r.Site.job.Spec) {
		end = run(ctx)
	} else {
		end = r.Site.Diff.By(ctx, event.ByVerify, false, run)
	}
	return ran, end
}

// after runs all verify commands after an attempt.
func (r Verifier) after(ctx context.Context, attempt int) (ran []commands.Ran, end *ending.Stop) {
	j := r.Site.job
	for _, v := range j.Spec.Verify {
		r.announce(event.VerifyCommand, v, attempt)
		if v.In != tasks.InClean {
			if err := r.Site.NoteUntracked(ctx); err != nil {
				return nil, j.NotVerified(ctx, err)
			}
		}
		res, err := r.verify(ctx, v)
		if err != nil {
			return nil, j.NotVerified(ctx, err)
		}
		res.Attempt = attempt
		j.Emit(event.Event{Type: event.VerifyEnded, Session: j.SessionID(j.Spec.ID), Verify: &res.Verify})
		ran = append(ran, res)
	}
	return ran, nil
}

// NotVerified returns the stop of a job whose verify commands could not run.
func (j *Job) NotVerified(ctx context.Context, err error) *ending.Stop {
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	code := event.CodeInternal
	if files.IsFull(err) {
		code, err = ofDisk(j.opts, nil, err)
	}
	return ending.Fault(code, err)
}

// Verifier runs the verify commands of a job.
type Verifier struct{ Site *Site }

// announce reports the start of a verify command.
func (r Verifier) announce(kind string, v tasks.Verify, attempt int) {
	started := event.Command{Kind: kind, Name: v.Name, Run: textcut.Head(v.Run, MaxCommand, "…"), Attempt: attempt}
	if v.In == tasks.InClean {
		started.In = event.InClean
	}
	session := ""
	if attempt > 0 {
		session = r.Site.job.SessionID(r.Site.job.Spec.ID)
	}
	r.Site.job.Emit(event.Event{Type: event.CommandStarted, Session: session, Command: &started})
}

// verify runs one verify command where it has to run.
func (r Verifier) verify(ctx context.Context, v tasks.Verify) (res commands.Ran, err error) {
	where, run := event.InWorkspace, r.inWorkspace
	if v.In == tasks.InClean {
		where, run = event.InClean, r.inClean
	}
	res, err = run(ctx, v)
	res.Name, res.In = v.Name, where
	return res, err
}

// inWorkspace runs one verify command in the workspace, with private directories of its
// own.
func (r Verifier) inWorkspace(ctx context.Context, v tasks.Verify) (res commands.Ran, err error) {
	restore, err := r.Site.job.PrivateDirs().Replace(ctx, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return r.Site.command(ctx, r.Site.Sandboxes.Own, v.Run, v.Time)
}

// command runs a command line of the manifest in the workspace. An error means that the
// context ended, or that the machine did not start the command; one that can't be started for
// another reason has failed.
func (w *Workdir) command(ctx context.Context, box *confinement.Confinement, line string, limit time.Duration) (commands.Ran, error) {
	return w.RunProgram(ctx, box, []string{"bash", "-c", line}, limit)
}

// RunProgram is command for a program with arguments.
func (w *Workdir) RunProgram(ctx context.Context, box *confinement.Confinement, args []string, limit time.Duration) (commands.Ran, error) {
	j := w.job
	return commands.Program{Args: args, Dir: w.Space.Dir(), Limit: limit, Box: box, Outputs: j.Outputs(), Redact: j.opts.Redact, Now: j.opts.Now}.Run(ctx)
}
