package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
)

type sessionOptions struct {
	run, job       string // job is "" for the only one
	json, markdown bool
}

func sessionCommand(w world.World) *cli.Command {
	list, show, resume := &sessionOptions{}, &sessionOptions{}, runs.New()
	c := &cli.Command{
		Name: "session", Usage: "Manage the sessions of a saved run",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "List the sessions of a run", ArgsUsage: "RUN", UsageText: "millhand session list 20260102-030405-1a2b3c4d",
				Flags:  []cli.Flag{jsonFlag(&list.json, "Print one JSON document")},
				Action: act(list.parseList, func(context.Context) error { return listSessions(w, *list) }),
			},
			{
				Name: "show", Usage: "Print the conversation of a job, or of a subagent (JOB.task-N)", ArgsUsage: "RUN [JOB]",
				UsageText: "millhand session show 20260102-030405-1a2b3c4d fix-tests\nmillhand session show .millhand/runs/20260102-030405-1a2b3c4d --markdown > session.md",
				Flags: []cli.Flag{
					jsonFlag(&show.json, "Print one JSON document, with everything"),
					&cli.BoolFlag{Name: "markdown", Destination: &show.markdown, EnvVars: noVariable(), Usage: "Print Markdown"},
				},
				Action: act(show.parse, func(ctx context.Context) error { return showSession(ctx, w, *show) }),
			},
			{
				Name: "resume", Usage: "Continue the session of a job that has ended with another prompt", ArgsUsage: "RUN [JOB]",
				UsageText: "millhand session resume 20260102-030405-1a2b3c4d fix-tests --prompt \"Add a test for it.\"",
				Flags: append([]cli.Flag{
					&cli.StringFlag{Name: "prompt", Destination: &resume.FollowUp.Prompt, EnvVars: noVariable(), Usage: "Continue with `PROMPT`"},
				}, flagsOf(resume.LogFields())...),
				Action: act(func(args []string) error { return parseFollowUp(resume, args) }, func(ctx context.Context) error { return resumeSession(ctx, w, *resume) }),
			},
		},
	}
	c.Subcommands = append(c.Subcommands, forkCommand(w), revertCommand(w))
	return c
}

// parseFollowUp reads the arguments of "millhand session resume".
func parseFollowUp(o *runs.Options, args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return errors.New("requires RUN, the id or the report directory of a run, and optionally JOB")
	case strings.TrimSpace(o.FollowUp.Prompt) == "":
		return errors.New("missing --prompt PROMPT")
	}
	if o.Resume = args[0]; len(args) == 2 {
		o.FollowUp.Job = args[1]
	}
	if o.Verbose {
		o.Log.Level = "debug"
	}
	return nil
}

// resumeSession continues a job of a run with another prompt.
func resumeSession(ctx context.Context, w world.World, given runs.Options) error {
	o := *runs.New()
	o.Resume, o.FollowUp, o.Log, o.JSON = given.Resume, given.FollowUp, given.Log, given.JSON
	return runs.Run(ctx, w, o)
}

func (o *sessionOptions) parseList(args []string) error {
	if len(args) != 1 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	o.run = args[0]
	return nil
}

func (o *sessionOptions) parse(args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return errors.New("requires RUN, the id or the report directory of a run, and optionally JOB")
	case o.json && o.markdown:
		return errors.New("--json and --markdown can't be combined")
	}
	if o.run = args[0]; len(args) == 2 {
		o.job = args[1]
	}
	return nil
}

// sessionRow is a session in the list of a run.
type sessionRow struct {
	Job      string     `json:"job"`
	Session  string     `json:"session"` // its name
	Agent    string     `json:"agent"`
	Turns    int        `json:"turns"`
	Messages *int       `json:"messages"` // nil if the conversation can't be read
	CostUSD  *money.USD `json:"cost_usd"`
	End      string     `json:"end"` // empty if it did not end
}

func listSessions(w world.World, o sessionOptions) error {
	run, err := savedrun.Load(o.run)
	if err != nil {
		return err
	}
	rows := []sessionRow{}
	for i := range run.Report.Jobs {
		j, err := run.Report.Jobs[i].Complete()
		if err != nil {
			return err
		}
		for _, about := range j.Sessions {
			row := sessionRow{Job: j.ID, Session: about.Name(), Agent: about.Agent, Turns: about.Turns, CostUSD: about.CostUSD, End: about.End}
			switch s, err := run.Session(about); {
			case err == nil:
				row.Messages = new(len(s.Messages()))
			case !errors.Is(err, fs.ErrNotExist):
				fmt.Fprintln(w.Err, "millhand: "+printable.Text(err.Error()))
			}
			rows = append(rows, row)
		}
	}
	if o.json {
		return printable.WriteJSON(w.Out, struct {
			Run      string       `json:"run"`
			Sessions []sessionRow `json:"sessions"`
		}{run.Report.Run.ID, rows})
	}
	if len(rows) == 0 {
		fmt.Fprintln(w.Err, "millhand: the run has no sessions")
		return nil
	}
	t := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tSESSION\tAGENT\tTURNS\tMESSAGES\tCOST\tEND")
	for _, r := range rows {
		messages, end := "-", "-"
		if r.Messages != nil {
			messages = strconv.Itoa(*r.Messages)
		}
		if r.End != "" {
			end = r.End
		}
		cells := []string{r.Job, r.Session, r.Agent, strconv.Itoa(r.Turns), messages, money.Rounded(r.CostUSD), end}
		for i, cell := range cells {
			cells[i] = printable.Line(cell, printable.Width)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// findSession returns the session with a name, for "" that of the only job.
func findSession(r *savedrun.Run, name string) (job string, s *report.Session, err error) {
	var names []string
	for i := range r.Report.Jobs {
		j, err := r.Report.Jobs[i].Complete()
		if err != nil {
			return "", nil, err
		}
		for k := range j.Sessions {
			s := &j.Sessions[k]
			if s.Name() == name || name == "" && s.Parent == nil && len(r.Report.Jobs) == 1 {
				return j.ID, s, nil
			}
			names = append(names, s.Name())
		}
	}
	list := textcut.ListOf(names, runs.MaxNames)
	switch {
	case len(names) == 0:
		return "", nil, fault.New(event.ExitUsage, "the run has no sessions")
	case name == "":
		return "", nil, fault.New(event.ExitUsage, "the run has %s: choose one of %s", figures.Count(len(r.Report.Jobs), "job"), list)
	}
	return "", nil, fault.New(event.ExitUsage, "session %q not found in the run; it has %s", name, list)
}

// sessionDocument is what `millhand session show --json` prints.
type sessionDocument struct {
	Run      string            `json:"run"`
	Job      string            `json:"job"`
	Name     string            `json:"name"`
	Session  report.Session    `json:"session"`
	System   string            `json:"system"`
	Tools    []string          `json:"tools"`
	Messages []journal.Message `json:"messages"` // all that were ever in the conversation
}

func showSession(ctx context.Context, w world.World, o sessionOptions) error {
	run, err := savedrun.Load(o.run)
	if err != nil {
		return err
	}
	job, about, err := findSession(run, o.job)
	if err != nil {
		return err
	}
	s, err := run.Session(*about)
	switch {
	case err != nil:
		return fault.Wrap(event.ExitUsage, err)
	case o.json:
		return printable.WriteJSON(w.Out, sessionDocument{
			run.Report.Run.ID, job, s.Name, *about, s.State.Session.System, append([]string{}, s.State.Session.Tools...), s.Messages(),
		})
	case o.markdown:
		return transcript.Markdown(w.Out, s)
	}
	return paged(ctx, w, func(out io.Writer) error { return transcript.Text(out, s, painter(w)) })
}

// painter returns a function that adds the colours of styles, if standard output has colours.
func painter(w world.World) func(printable.Style, string) string {
	codes := map[printable.Style]string{printable.Heading: "1", printable.Aside: "2", printable.Good: "32", printable.Bad: "31"}
	if !view.Colours(w.Out, w.Getenv) {
		codes = nil
	}
	return func(s printable.Style, text string) string {
		if code := codes[s]; code != "" && text != "" {
			return "\x1b[" + code + "m" + text + "\x1b[0m"
		}
		return text
	}
}

// defaultPager is less if it is installed.
const defaultPager = "if command -v less >/dev/null; then exec less; else exec cat; fi"

// paged writes to standard output, on a terminal through $PAGER.
func paged(ctx context.Context, w world.World, write func(io.Writer) error) error {
	terminal, ok := view.Terminal(w.Out, w.Getenv)
	if !ok {
		return write(w.Out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	pager := w.Getenv("PAGER")
	if pager == "" {
		pager = defaultPager
	}
	env := proc.ChildEnv(w.Getenv, []string{"TERM", "COLORTERM", "LESS", "LESSCHARSET", "LESSHISTFILE", "LV"})
	if proc.Value(env, "LESS") == "" {
		env = proc.Set(env, "LESS", "FRX") // as git does: colours, and no pages if the text fits on the screen
	}
	if err := proc.Page(ctx, pager, env, terminal, &text); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	return nil
}
