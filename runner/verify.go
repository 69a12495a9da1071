package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
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
			reason := fmt.Sprintf("setup command %q failed (%s)", line, exitText(v.Verify)) + setupFault(line, v)
			if v.Tail != "" {
				reason += ":\n" + withOutput(j.opts.Dir, v.Tail, v.OutputPath)
			}
			return &ending.Stop{Code: event.CodeFailed, Detail: reason}
		}
	}
	return nil
}

// verifyAll runs all verify commands and returns those that failed. What they leave in the
// workspace is not the agent's.
func (w *work) verifyAll(ctx context.Context) (failed []ran, end *ending.Stop) {
	run := func(ctx context.Context) (end *ending.Stop) {
		failed, end = verifier{w.job, w.site}.after(ctx, w.result.attempts)
		return end
	}
	if !verifiesWorkspace(w.job.spec) {
		end = run(ctx)
	} else {
		end = w.site.diff.By(ctx, event.ByVerify, false, run)
	}
	return failed, end
}

// after runs all verify commands after an attempt and returns those that failed.
func (r verifier) after(ctx context.Context, attempt int) (failed []ran, end *ending.Stop) {
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
func (r verifier) verify(ctx context.Context, v tasks.Verify) (res ran, err error) {
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
func (r verifier) inWorkspace(ctx context.Context, v tasks.Verify) (res ran, err error) {
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
func (j *job) command(ctx context.Context, s *site, box *confinement.Confinement, line string, limit time.Duration) (ran, error) {
	return runProgram(ctx, j, s, box, []string{"bash", "-c", line}, limit)
}

// runProgram is command for a program with arguments.
func runProgram(ctx context.Context, j *job, s *site, box *confinement.Confinement, args []string, limit time.Duration) (v ran, failed error) {
	out := newPrinted(&outputFile{dir: j.outputs(), redact: j.opts.Redact})
	defer func() { out.into(&v, j.opts.Redact) }()
	began := j.opts.Now()
	res, err := proc.Run(ctx, proc.Command{Args: args, Dir: s.space.Dir(), Env: box.Env, Timeout: limit, Output: out, Confine: box.Confine(), Monitor: box.Monitor()})
	v.Passed, v.ExitCode = err == nil && res.ExitCode == 0 && !res.TimedOut, res.ExitCode
	v.ElapsedMS = j.opts.Now().Sub(began).Milliseconds()
	if v.denied = j.opts.Redact.Held(res.Note); v.denied != "" {
		out.note(v.denied)
	}
	switch {
	case ctx.Err() != nil:
		return v, context.Cause(ctx)
	case proc.IsMachine(err):
		return v, err
	case err != nil:
		v.ExitCode = -1
		out.note(err.Error())
	case res.TimedOut:
		v.ExitCode, v.TimeoutMS = -1, limit.Milliseconds()
		out.note("(command " + v.Exit() + ")")
	}
	return v, nil
}

func exitText(v event.Verify) string {
	if v.ExitCode < 0 && v.TimeoutMS == 0 {
		return "killed"
	}
	return v.Exit()
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
	b.WriteString("The verify commands of the task failed on your changes. Find the cause, fix it, and finish again.\n")
	for _, v := range f.failed {
		where := ""
		if v.In == event.InClean {
			where = ` in="a fresh checkout of your changes, without ignored files, after setup"`
		}
		fmt.Fprintf(&b, "\n<check name=%q%s result=%q>\n%s\n</check>\n", v.Name, where, exitText(v.Verify), strings.TrimRight(withOutput(reports, v.Tail, v.OutputPath), "\n"))
	}
	return b.String()
}

// why describes what failed in the first failed verify command, and what the sandbox denied it;
// "" if that is not known.
func why(failed []ran) string {
	v := failed[0]
	text := v.line
	if v.TimeoutMS > 0 {
		text = v.Exit()
	}
	if denied, _, _ := strings.Cut(v.denied, "\n"); !strings.Contains(text, denied) {
		text += "; " + denied
	}
	if text = strings.TrimPrefix(text, "; "); text == "" {
		return ""
	}
	return ": " + text
}

func names(failed []ran) string {
	var list []string
	for _, v := range failed {
		list = append(list, v.Name)
	}
	return strings.Join(list, ", ")
}
