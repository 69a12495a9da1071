package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

const (
	setupTimeout = 30 * time.Minute // for one setup command
	maxCommand   = 500              // bytes of a command line in an event
)

// setup runs the task's setup commands. The first failure ends the job before the first
// model request.
func (j *job) setup(ctx context.Context, s *site) (end *ending.Stop) {
	ctx, cancel := j.inTime(ctx, s)
	defer cancel()
	if len(j.spec.Setup) == 0 {
		return nil
	}
	internal := func(err error) *ending.Stop {
		return ending.Fault(event.CodeInternal, fmt.Errorf("confine the setup commands: %w", err))
	}
	g, err := j.ground(s, j.spec.Profile)
	if err != nil {
		return internal(err)
	}
	box, err := j.confineSetup(ctx, s, g, s.sandbox, "")
	if ctx.Err() != nil {
		return ending.Of(ctx)
	}
	if err != nil {
		return internal(err)
	}
	defer func() { // the agent's commands must not find its proxy
		if err := box.Close(); err != nil && end == nil {
			end = internal(err)
		}
	}()
	for _, line := range j.spec.Setup {
		run := event.Command{Kind: event.SetupCommand, Run: textcut.Head(line, maxCommand, "…")}
		j.emit(event.Event{Type: event.CommandStarted, Command: new(run)})
		v, err := j.command(ctx, s, box, line, setupTimeout)
		if err != nil && ctx.Err() == nil {
			return ending.Fault(event.CodeInternal, err)
		}
		if err != nil {
			end := ending.Of(ctx)
			end.Detail = fmt.Sprintf("setup command %q: %s", line, end.Detail)
			return end
		}
		run.ExitCode, run.ElapsedMS = &v.ExitCode, v.ElapsedMS
		j.emit(event.Event{Type: event.CommandEnded, Command: &run})
		if !v.Passed {
			reason := fmt.Sprintf("setup command %q failed (%s)", line, commands.ExitText(v.Verify)) + commands.SetupFault(line, v)
			if v.Tail != "" {
				reason += ":\n" + commands.WithOutput(j.opts.Dir, v.Tail, v.OutputPath)
			}
			return &ending.Stop{Code: event.CodeFailed, Detail: reason}
		}
	}
	return nil
}

// all runs all verify commands after an attempt and returns those that failed. What they leave in the
// workspace is not the agent's.
func (r verifier) all(ctx context.Context, attempt int) (failed []commands.Ran, end *ending.Stop) {
	run := func(ctx context.Context) (end *ending.Stop) {
		failed, end = r.after(ctx, attempt)
		return end
	}
	if !verifiesWorkspace(r.job.spec) {
		end = run(ctx)
	} else {
		end = r.site.diff.By(ctx, event.ByVerify, false, run)
	}
	return failed, end
}

// after runs all verify commands after an attempt and returns those that failed.
func (r verifier) after(ctx context.Context, attempt int) (failed []commands.Ran, end *ending.Stop) {
	j := r.job
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
func (j *job) notVerified(ctx context.Context, err error) *ending.Stop {
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
type verifier struct {
	job  *job
	site *site
}

// announce reports the start of a verify command.
func (r verifier) announce(kind string, v tasks.Verify, attempt int) {
	started := event.Command{Kind: kind, Name: v.Name, Run: textcut.Head(v.Run, maxCommand, "…"), Attempt: attempt}
	if v.In == tasks.InClean {
		started.In = event.InClean
	}
	session := ""
	if attempt > 0 {
		session = r.job.sessionID(r.job.spec.ID)
	}
	r.job.emit(event.Event{Type: event.CommandStarted, Session: session, Command: &started})
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
	restore, err := r.job.privateDirs().Replace(ctx, true)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return r.job.command(ctx, r.site, r.site.sandbox, v.Run, v.Time)
}

// command runs a command line of the manifest in the workspace. An error means that the
// context ended, or that the machine did not start the command; one that can't be started for
// another reason has failed.
func (j *job) command(ctx context.Context, s *site, box *confinement.Confinement, line string, limit time.Duration) (commands.Ran, error) {
	return runProgram(ctx, j, s, box, []string{"bash", "-c", line}, limit)
}

// runProgram is command for a program with arguments.
func runProgram(ctx context.Context, j *job, s *site, box *confinement.Confinement, args []string, limit time.Duration) (commands.Ran, error) {
	return commands.Program{Args: args, Dir: s.space.Dir(), Limit: limit, Box: box, Outputs: j.outputs(), Redact: j.opts.Redact, Now: j.opts.Now}.Run(ctx)
}

// feedback returns the prompt of the attempt after one with faults. Complete outputs are in a
// report directory.
func (f faults) feedback(reports *files.Dir) string {
	var b strings.Builder
	if len(f.barred) > 0 {
		b.WriteString(landing.Undo(f.barred) + "\n")
	}
	if len(f.over) > 0 {
		b.WriteString(landing.Reduce(f.over) + "\n")
	}
	if len(f.refused) > 0 {
		b.WriteString(landing.Uncommittable(f.refused) + "\n")
	}
	if len(f.marked) > 0 {
		b.WriteString("Conflict markers are left in " + textcut.List(f.marked) + ". Resolve the conflicts, and finish again.\n")
	}
	if len(f.failed) == 0 {
		return b.String()
	}
	b.WriteString(commands.Feedback(f.failed, reports))
	return b.String()
}
