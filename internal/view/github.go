package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/printable"
)

// gitHubLog is the log of a GitHub Actions step: a group for each job, written when
// the job ends. The action writes annotations.
type gitHubLog struct {
	out    io.Writer
	level  zerolog.Level
	groups map[string]*strings.Builder
}

func newGitHubLog(out io.Writer, level zerolog.Level) *gitHubLog {
	return &gitHubLog{out: out, level: level, groups: map[string]*strings.Builder{}}
}

// Emit adds a line to its job's group. Every line starts with text of millhand, so
// that none is a workflow command.
func (g *gitHubLog) Emit(e event.Event) error {
	l := line(e)
	if e.Job == "" {
		if l.text != "" && l.level >= g.level {
			fmt.Fprintf(g.out, "millhand: %s\n", printable.Line(l.text, printable.Width))
		}
		return nil
	}
	b := g.groups[e.Job]
	if b == nil {
		b = &strings.Builder{}
		g.groups[e.Job] = b
	}
	if l.text != "" && l.level >= g.level {
		fmt.Fprintf(b, "%s %s\n", e.Time.Format(time.TimeOnly), printable.Line(l.text, printable.Width))
	}
	if e.Type != event.JobEnded {
		return nil
	}
	delete(g.groups, e.Job)
	fmt.Fprintf(g.out, "::group::%s %s\n%s::endgroup::\n", e.Job, e.JobEnd.Outcome, b)
	return nil
}
