package step

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

// Step is one step of a workflow.
type Step struct {
	world.World
	log, out *action.Log
	where    action.Checkout
	events   string      // path of the run's events
	before   os.FileInfo // of the events of an earlier run; nil for none
	refused  string      // why nothing was run; "" otherwise
	in       invocation
}

// Line is a command line of millhand, without the name of the program, and the world that it runs in.
type Line struct {
	World world.World
	Args  []string
}

// New returns the step of a process, which the caller closes.
func New(w world.World) *Step {
	return &Step{World: w, log: action.NewLog(w.Err, "::group::", "::endgroup::"), out: action.NewLog(w.Out)}
}

// Close ends the log and the output.
func (s *Step) Close() error { return errors.Join(s.out.Close(), s.log.Close()) }

// Read reads the inputs, and returns the working directory. If nothing is to be run, the directory is "", the exit code is valid, and
// outputs and summary are written.
func (s *Step) Read(ctx context.Context) (directory string, exit event.Exit) {
	in, exit, ok := s.read(ctx)
	s.in = in
	if !ok {
		return "", s.end(ctx, exit)
	}
	return in.WorkingDirectory, exit
}

// Prepare returns the command line that the inputs stand for, in a process that is in the working directory, dir, or could not change
// to it. It returns none if nothing is to be run, and the exit code; outputs and summary are written then.
func (s *Step) Prepare(ctx context.Context, dir string, err error) (*Line, event.Exit) {
	if exit, ok := s.prepare(ctx, dir, err); !ok {
		return nil, s.end(ctx, exit)
	}
	s.before, _ = os.Stat(s.events)
	return &Line{s.runWorld(), s.in.args}, event.ExitOK
}

// end writes the outputs and the summary of a step that runs nothing, and returns its exit code.
func (s *Step) end(ctx context.Context, exit event.Exit) event.Exit {
	in := s.in
	if in.skipped != "" {
		if in.outsider {
			s.log.Annotate(action.Annotation{Level: "notice", Title: "millhand", Message: "nothing was run: " + in.skipped})
		} else {
			fmt.Fprintln(s.log, printable.Text("millhand: nothing was run: "+in.skipped))
		}
		s.summariseNothing(ctx, in.skipped)
		s.put(ctx, action.Skipped(), nil)
		return exit
	}
	s.summariseNothing(ctx, s.refused)
	outputs, warnings := action.Outputs(exit, "", nil)
	s.put(ctx, outputs, warnings)
	return exit
}

// Finish writes the annotations, the summary and the outputs of the command line, whose error it gets.
func (s *Step) Finish(ctx context.Context, err error) event.Exit {
	if s.in.prompt != "" {
		os.Remove(s.in.prompt)
	}
	s.explain(err)
	exit, rep := fault.ExitOf(err), s.report()
	if rep != nil {
		for _, a := range slices.Concat(action.Failures(rep, s.where), action.Findings(rep, s.where)) {
			s.log.Annotate(a)
		}
		s.annotateOnRunner(rep)
		if s.in.Summary {
			s.summarise(ctx, filepath.Dir(s.events))
		}
	} else if exit != event.ExitOK {
		s.summariseNothing(ctx, s.refused)
	}
	outputs, warnings := action.Outputs(exit, filepath.Dir(s.events), rep)
	s.put(ctx, outputs, warnings)
	return exit
}

// invocation has the resolved inputs of the action.
type invocation struct {
	action.Inputs
	args    []string
	key     string
	prompt  string // manifest made of a prompt, to be removed; "" for none
	skipped string // why nothing is run, though nothing is wrong; "" otherwise

	untrusted string // why the manifests are not trusted; "" if they are, or by an input

	outsider bool // it is skipped because of who caused the event
}

// read reads the inputs, and decides whether the event's actor may start a run.
func (s *Step) read(ctx context.Context) (c invocation, exit event.Exit, ok bool) {
	var err error
	if c.Inputs, err = action.Read(s.Getenv); err != nil {
		s.refuse(err)
		return c, event.ExitUsage, false
	}
	admitted := s.admit(ctx, c.Inputs)
	if c.skipped, c.outsider = admitted.skipped, admitted.outsider; c.skipped != "" {
		return c, event.ExitOK, false
	}
	if admitted.refused != "" {
		s.refuse(errors.New(admitted.refused))
		return c, event.ExitPolicy, false
	}
	if c.Untrusted == "auto" && admitted.untrusted != "" {
		c.Untrusted, c.untrusted = "true", admitted.untrusted
	}
	return c, event.ExitOK, true
}

// prepare resolves the inputs in the working directory, dir.
func (s *Step) prepare(ctx context.Context, dir string, err error) (exit event.Exit, ok bool) {
	c := &s.in
	if err == nil {
		s.Dir, s.where.Dir, s.where.Repository = dir, dir, s.Getenv("GITHUB_WORKSPACE")
		s.events = userfile.Resolve(dir, filepath.Join(c.ReportDir, "events.jsonl"))
		c.key, err = abandon.When(ctx, s.readKey)
	}
	if err == nil && c.Comment != "" {
		c.Task.Comment, err = s.commentTarget(ctx, c.Comment == "sticky")
	}
	var manifests []string
	if err == nil {
		manifests, err = c.Manifests(ctx, s.Getenv("RUNNER_TEMP"))
	}
	if err != nil {
		s.refuse(err)
		return fault.ExitOf(err), false
	}
	if c.Manifest == "" {
		c.prompt = manifests[0]
	}
	if c.untrusted != "" {
		fmt.Fprintln(s.log, printable.Text("millhand: manifests are not trusted (--untrusted): "+c.untrusted))
	}
	c.args = c.Arguments(manifests)
	return event.ExitOK, true
}

// commentTarget returns where the input comment posts.
func (s *Step) commentTarget(ctx context.Context, sticky bool) (*tasks.Comment, error) {
	payload, err := s.payload(ctx)
	if err != nil {
		return nil, fmt.Errorf("input comment: read the payload of the event: %w", err)
	}
	return action.CommentTarget(payload, sticky)
}

// payload reads the payload of the event.
func (s *Step) payload(ctx context.Context) ([]byte, error) {
	return abandon.When(ctx, func() ([]byte, error) { return os.ReadFile(s.Getenv("GITHUB_EVENT_PATH")) })
}

// readKey reads the provider's key from standard input.
func (s *Step) readKey() (string, error) {
	text, err := io.ReadAll(io.LimitReader(s.In, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read the key from standard input: %w", err)
	}
	return action.Key(string(text))
}

// runWorld is the world of the run.
func (s *Step) runWorld() world.World {
	return world.World{
		In: strings.NewReader(""), Out: s.out, Err: s.log, Dir: s.Dir,
		Getenv: s.environment(s.in), Secrets: append(slices.Clip(s.Secrets), s.in.key),
		Now: s.Now, Proxy: s.Proxy, Version: s.Version,
	}
}

// explain annotates why the command line was refused, if it was.
func (s *Step) explain(err error) {
	problems, known := fault.ProblemsOf(err), s.runWorld().Redactor(nil)
	for _, p := range problems { // the runner shows annotations in the log, too
		a := s.annotation(p)
		a.Message = known.Text(action.NameInputs(a.Message))
		s.log.Annotate(a)
		s.refused += a.Message + "\n"
	}
	switch {
	case err == nil || err.Error() == "":
	case len(problems) > 0:
		fmt.Fprintln(s.log, "millhand: "+printable.Text(err.Error()))
	default:
		s.refuse(err)
	}
}

// annotation returns the annotation of a manifest's problem at its location. The message
// repeats the location, because the log shows only the message.
func (s *Step) annotation(p problem.Problem) action.Annotation {
	a := action.Annotation{Level: "error", Title: "millhand: " + action.NameInputs(p.File), Message: p.String()}
	if p.Line > 0 { // otherwise it is a problem of the command line
		a.Location = s.where.Location(p.File, p.Line, p.Column)
	}
	return a
}

// environment returns the environment of the run.
func (s *Step) environment(c invocation) func(string) string {
	return func(name string) string {
		switch {
		case c.key != "" && name == action.KeyVariable(c.Model):
			return c.key
		case c.BaseURL != "" && name == action.BaseURLVariable(c.Model):
			return c.BaseURL
		case strings.HasPrefix(name, "INPUT_"), slices.Contains(proc.CIFiles(), name):
			return ""
		}
		return s.Getenv(name)
	}
}

// refuse annotates the reason why nothing was run.
func (s *Step) refuse(err error) {
	s.refused = action.NameInputs(err.Error())
	s.log.Annotate(action.Annotation{Level: "error", Title: "millhand", Message: s.refused})
}

// warn adds a warning annotation.
func (s *Step) warn(format string, args ...any) {
	s.log.Annotate(action.Annotation{Level: "warning", Title: "millhand", Message: fmt.Sprintf(format, args...)})
}

// report returns the report of the run that just ended, nil if it ended before
// writing events: those that existed before are another run's.
func (s *Step) report() *report.Report {
	f, err := rundir.OpenEvents(filepath.Dir(s.events))
	if err != nil {
		return nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || s.before != nil && os.SameFile(s.before, now) {
		return nil
	}
	rep, err := report.Load(f)
	if err != nil {
		s.warn("read %s: %v", s.events, err)
		return nil
	}
	return rep
}

// put writes the outputs of the step.
func (s *Step) put(ctx context.Context, outputs []action.Output, warnings []string) {
	for _, w := range warnings {
		s.warn("%s", w)
	}
	s.add(ctx, "GITHUB_OUTPUT", func(int64) ([]byte, error) { return action.Format(outputs, delimiter), nil })
}

// delimiter returns a random string.
func delimiter() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// summarise appends the run's summary to the step's.
func (s *Step) summarise(ctx context.Context, dir string) {
	s.add(ctx, "GITHUB_STEP_SUMMARY", func(size int64) ([]byte, error) {
		page, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		return action.Summary(page, action.MaxSummary-int(size)), err
	})
}

// summariseNothing writes why nothing was run into the step summary.
func (s *Step) summariseNothing(ctx context.Context, why string) {
	if why == "" || strings.EqualFold(strings.TrimSpace(s.Getenv("INPUT_SUMMARY")), "false") { // the inputs may be invalid
		return
	}
	text := "## millhand: nothing was run\n\n" + markdown.Restricted(s.World.Redactor(nil).Text(why)) + "\n"
	s.add(ctx, "GITHUB_STEP_SUMMARY", func(size int64) ([]byte, error) {
		return action.Summary([]byte(text), action.MaxSummary-int(size)), nil
	})
}

// add appends to the file that a variable names, whatever it is; text receives the file's size.
// Outside of a workflow the variable is not set.
func (s *Step) add(ctx context.Context, variable string, text func(size int64) ([]byte, error)) {
	name := s.Getenv(variable)
	if name == "" {
		return
	}
	err := func() (failed error) {
		f, err := files.Own(name).Append(0o644)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, f.Close()) }()
		data, err := text(f.Info().Size())
		if err != nil {
			return err
		}
		return f.Write(ctx, data)
	}()
	if err != nil {
		s.warn("write %s: %v", variable, err)
	}
}

// annotateOnRunner adds an annotation to the log of the action if the run has made commits that are only on its runner.
func (s *Step) annotateOnRunner(rep *report.Report) {
	if !slices.ContainsFunc(rep.Jobs, func(j report.Job) bool { return j.Commit != nil }) {
		return
	}
	for _, w := range rep.Warnings {
		if w.Job == nil && strings.Contains(w.Message, planned.OnlyHere) {
			s.warn("%s", w.Message)
		}
	}
}
