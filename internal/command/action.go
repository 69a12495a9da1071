package command

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

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/action"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/models"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

// actionCommand is the step of the GitHub action: .github/action/run.sh becomes
// it. Inputs are in the environment, the key of the model's provider alone on
// standard input, so that the environment of this process, which is there to
// read for every command that an agent runs, never holds it.
func actionCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "github-action", Usage: "Run what the inputs of the GitHub action say", Hidden: true,
		Action: func(c *cli.Context) error {
			s := actionStep{
				World: w,
				log:   action.NewLog(w.Err, "::group::", "::endgroup::"),
				out:   action.NewLog(w.Out),
			}
			exit := s.run(c.Context)
			// That nobody reads the log any more ends nothing.
			errors.Join(s.out.Close(), s.log.Close()) //nolint:errcheck // see above
			return exitWith(exit)
		},
	}
}

// actionStep is one step of a workflow.
type actionStep struct {
	World
	log, out *action.Log
	where    action.Whereabouts
	events   string // path of the run's events
}

// run does what the inputs say, and tells GitHub about it.
func (s *actionStep) run(ctx context.Context) event.Exit {
	in, exit, ok := s.prepare(ctx)
	if !ok {
		s.put(action.Outputs(exit, "", nil))
		return exit
	}
	before, _ := os.Stat(s.events) // an earlier run's, if there are any
	exit = s.carryOut(ctx, in)
	rep := s.report(before)
	if rep != nil {
		for _, a := range action.Failures(rep, s.where) {
			s.log.Annotate(a)
		}
		if in.Summary {
			s.summarise(filepath.Dir(s.events))
		}
	}
	s.put(action.Outputs(exit, filepath.Dir(s.events), rep))
	return exit
}

// carriedOut is what the inputs come to.
type carriedOut struct {
	action.Inputs
	args []string
	key  string
}

// prepare reads the inputs and goes to the working directory.
func (s *actionStep) prepare(ctx context.Context) (c carriedOut, exit event.Exit, ok bool) {
	var err error
	if c.Inputs, err = action.Read(s.Getenv); err == nil {
		err = os.Chdir(c.WorkingDirectory)
	}
	if err == nil {
		s.where.Repository = s.Getenv("GITHUB_WORKSPACE")
		s.where.Dir, err = os.Getwd()
	}
	if err == nil {
		s.events, err = filepath.Abs(filepath.Join(c.ReportDir, "events.jsonl"))
	}
	if err == nil {
		c.key, err = s.readKey()
	}
	var manifests []string
	if err == nil {
		manifests, err = c.Manifests(s.Getenv("RUNNER_TEMP"))
	}
	if err != nil {
		s.refuse(err)
		return c, event.ExitUsage, false
	}
	if c.Untrusted == "auto" {
		if why := s.untrusted(ctx); why != "" {
			c.Untrusted = "true"
			fmt.Fprintln(s.log, printable.Text("millhand: manifests are not trusted (--untrusted): "+why))
		}
	}
	c.args = c.Arguments(manifests)
	return c, event.ExitOK, true
}

// readKey takes the provider's key from standard input.
func (s *actionStep) readKey() (string, error) {
	text, err := io.ReadAll(io.LimitReader(s.In, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read the key from standard input: %w", err)
	}
	return action.Key(string(text))
}

// carryOut runs the command line that the inputs come to.
func (s *actionStep) carryOut(ctx context.Context, c carriedOut) event.Exit {
	w := World{In: strings.NewReader(""), Out: s.out, Err: s.log, Getenv: s.environment(c), Secrets: append(slices.Clip(s.Secrets), c.key), Now: s.Now, Proxy: s.Proxy}
	var problems tasks.Problems
	err := dispatch(ctx, newRoot(w), c.args, w.Getenv, w.Out)
	exit := exitOf(err)
	var manifests refused
	if errors.As(err, &manifests) {
		problems = manifests.problems
	}
	for _, p := range problems {
		s.log.Annotate(s.annotation(p))
	}
	switch {
	case err == nil || err.Error() == "":
	case len(problems) > 0:
		fmt.Fprintln(s.log, "millhand: "+printable.Text(err.Error()))
	default:
		s.refuse(err)
	}
	return exit
}

// annotation tells a problem where it is.
func (s *actionStep) annotation(p tasks.Problem) action.Annotation {
	a := action.Annotation{Level: "error", Title: "millhand: " + p.File, Message: p.What}
	if p.Line > 0 { // of a file: other problems are of the command line
		a.Place = s.where.Place(p.File, p.Line)
	}
	if p.Fix != "" {
		a.Message += "; " + p.Fix
	}
	return a
}

// exitOf is the exit code that an error of a command comes to.
func exitOf(err error) event.Exit {
	var f failure
	var interrupt runner.Interrupt
	var noKey *models.KeyError
	switch {
	case err == nil:
		return event.ExitOK
	case errors.As(err, &interrupt): // whatever it was that the signal interrupted
		return interrupt.Exit
	case errors.As(err, &f):
		return f.exit
	case errors.As(err, &noKey):
		return event.ExitAuth
	}
	return event.ExitUsage
}

// environment is the environment as the run sees it.
func (s *actionStep) environment(c carriedOut) func(string) string {
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

// refuse says why nothing was run.
func (s *actionStep) refuse(err error) {
	s.log.Annotate(action.Annotation{Level: "error", Title: "millhand", Message: err.Error()})
}

// warn says what is not as it should be.
func (s *actionStep) warn(format string, args ...any) {
	s.log.Annotate(action.Annotation{Level: "warning", Title: "millhand", Message: fmt.Sprintf(format, args...)})
}

// report is the report of the run that just ended, nil if it ended before it
// had one: the events that were there before are another run's.
func (s *actionStep) report(before os.FileInfo) *report.Report {
	f, err := os.Open(s.events)
	if err != nil {
		return nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || before != nil && os.SameFile(before, now) {
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
func (s *actionStep) put(outputs []action.Output, warnings []string) {
	for _, w := range warnings {
		s.warn("%s", w)
	}
	s.add("GITHUB_OUTPUT", func(int64) ([]byte, error) { return action.Format(outputs, delimiter), nil })
}

// delimiter is a text that nobody can guess.
func delimiter() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// summarise adds the run's summary to the step's.
func (s *actionStep) summarise(dir string) {
	s.add("GITHUB_STEP_SUMMARY", func(size int64) ([]byte, error) {
		page, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		return action.Summary(page, action.MaxSummary-int(size)), err
	})
}

// add appends to the file that a variable names; text gets to know how much is
// in it. Outside of a workflow there is no such file.
func (s *actionStep) add(variable string, text func(size int64) ([]byte, error)) {
	name := s.Getenv(variable)
	if name == "" {
		return
	}
	err := func() error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		data, err := text(info.Size())
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Close()
	}()
	if err != nil {
		s.warn("write %s: %v", variable, err)
	}
}
