package runner

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

// maxCommand is the maximum length in bytes of a command line in an event.
const maxCommand = 500

// all runs all verify commands after an attempt and returns those that failed. What they leave in the
// workspace is not the agent's.
func (r verifier) all(ctx context.Context, attempt int) (failed []commands.Ran, end *ending.Stop) {
	run := func(ctx context.Context) (end *ending.Stop) {
		failed, end = r.after(ctx, attempt)
		return end
	}
	if !verifiesWorkspace(r.site.job.spec) {
		end = run(ctx)
	} else {
		end = r.site.diff.By(ctx, event.ByVerify, false, run)
	}
	return failed, end
}

// after runs all verify commands after an attempt and returns those that failed.
func (r verifier) after(ctx context.Context, attempt int) (failed []commands.Ran, end *ending.Stop) {
	j := r.site.job
	for _, v := range j.spec.Verify {
		r.announce(event.VerifyCommand, v, attempt)
		if v.In != tasks.InClean {
			if err := r.site.NoteUntracked(ctx); err != nil {
				return nil, j.notVerified(ctx, err)
			}
		}
		res, err := r.verify(ctx, v)
		if err != nil {
			return nil, j.notVerified(ctx, err)
		}
		res.Attempt = attempt
		j.emit(event.Event{Type: event.VerifyEnded, Session: j.sessionID(j.spec.ID), Verify: &res.Verify})
		if !res.Passed {
			failed = append(failed, res)
		}
	}
	return failed, nil
}

// notVerified returns the stop of a job whose verify commands could not run.
func (j *siteJob) notVerified(ctx context.Context, err error) *ending.Stop {
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	code := event.CodeInternal
	if files.IsFull(err) {
		code, err = ofDisk(j.opts, nil, err)
	}
	return ending.Fault(code, err)
}

// verifier runs the verify commands of a job.
type verifier struct{ site *site }

// announce reports the start of a verify command.
func (r verifier) announce(kind string, v tasks.Verify, attempt int) {
	started := event.Command{Kind: kind, Name: v.Name, Run: textcut.Head(v.Run, maxCommand, "…"), Attempt: attempt}
	if v.In == tasks.InClean {
		started.In = event.InClean
	}
	session := ""
	if attempt > 0 {
		session = r.site.job.sessionID(r.site.job.spec.ID)
	}
	r.site.job.emit(event.Event{Type: event.CommandStarted, Session: session, Command: &started})
}

// verify runs one verify command where it has to run.
func (r verifier) verify(ctx context.Context, v tasks.Verify) (res commands.Ran, err error) {
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
func (r verifier) inWorkspace(ctx context.Context, v tasks.Verify) (res commands.Ran, err error) {
	restore, err := r.site.job.privateDirs().Replace(ctx, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return r.site.command(ctx, r.site.sandboxes.own, v.Run, v.Time)
}

// command runs a command line of the manifest in the workspace. An error means that the
// context ended, or that the machine did not start the command; one that can't be started for
// another reason has failed.
func (s *site) command(ctx context.Context, box *confinement.Confinement, line string, limit time.Duration) (commands.Ran, error) {
	return s.runProgram(ctx, box, []string{"bash", "-c", line}, limit)
}

// runProgram is command for a program with arguments.
func (s *site) runProgram(ctx context.Context, box *confinement.Confinement, args []string, limit time.Duration) (commands.Ran, error) {
	j := s.job
	return commands.Program{Args: args, Dir: s.space.Dir(), Limit: limit, Box: box, Outputs: j.outputs(), Redact: j.opts.Redact, Now: j.opts.Now}.Run(ctx)
}
