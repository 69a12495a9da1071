package shown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
)

// SessionOptions are what the flags of "millhand session list" and "millhand session show" set.
type SessionOptions struct {
	Run, Job       string // Job is "" for the only one
	JSON, Markdown bool
}

// Parse reads the arguments of "millhand session show".
func (o *SessionOptions) Parse(args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return errors.New("requires RUN, the id or the report directory of a run, and optionally JOB")
	case o.JSON && o.Markdown:
		return errors.New("--json and --markdown can't be combined")
	}
	if o.Run = args[0]; len(args) == 2 {
		o.Job = args[1]
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

// Sessions prints the sessions of a run.
func Sessions(w world.World, o SessionOptions) error {
	run, err := savedrun.Load(o.Run)
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
	if o.JSON {
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
	list := textcut.ListOf(names, savedrun.MaxNames)
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

// Session prints the conversation of a session.
func Session(ctx context.Context, w world.World, o SessionOptions) error {
	run, err := savedrun.Load(o.Run)
	if err != nil {
		return err
	}
	job, about, err := findSession(run, o.Job)
	if err != nil {
		return err
	}
	s, err := run.Session(*about)
	switch {
	case err != nil:
		return fault.Wrap(event.ExitUsage, err)
	case o.JSON:
		return printable.WriteJSON(w.Out, sessionDocument{
			run.Report.Run.ID, job, s.Name, *about, s.State.Session.System, append([]string{}, s.State.Session.Tools...), s.Messages(),
		})
	case o.Markdown:
		return transcript.Markdown(w.Out, s)
	}
	return Paged(ctx, w, func(out io.Writer) error { return transcript.Text(out, s, Painter(w)) })
}
