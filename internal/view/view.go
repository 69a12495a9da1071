// Package view writes the log of a run from its events: for people, with one live line per running job on a
// terminal, as lines of JSON, or for a GitHub workflow. It decides nothing and stores nothing: the report
// directory has the events.
package view

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
)

// Silence is the time without a line after which a log that is not a terminal prints what
// is running.
const Silence = 30 * time.Second

// Options select a log. The zero value is not valid: see the fields.
type Options struct {
	Format string // auto, console, json or github
	Level  string // debug, info, warn or error
	Quiet  bool   // only errors, regardless of Level
}

// Log is the log of a run. It is an [event.Sink] that never fails: a closed log must not
// stop the run.
type Log struct {
	mu          sync.Mutex
	out         io.Writer
	level       zerolog.Level
	json        bool
	colour      bool
	github      bool // whether it is the log of a GitHub step
	fold        fold // of the output of commands; nil for a log that folds nothing
	folds       int  // number of them
	state       state
	directories directories
	screen      *screen   // nil if there are no live lines
	last        time.Time // of the last line
}

// directories are absolute paths.
type directories struct{ dir, reports string }

// New returns the log of a run. Format auto, colours and live lines depend on variables,
// which getenv returns.
func New(out io.Writer, o Options, getenv func(string) string) (*Log, error) {
	level, err := zerolog.ParseLevel(o.Level)
	if err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, o.Level) {
		return nil, fmt.Errorf("invalid log level %q: use debug, info, warn or error", o.Level)
	}
	if o.Quiet {
		level = max(level, zerolog.ErrorLevel)
	}
	format := o.Format
	if format == "auto" {
		format = "console"
		if getenv("GITHUB_ACTIONS") == "true" {
			format = "github"
		}
	}
	l := &Log{out: out, level: level, fold: foldOf(o.Format, getenv)}
	switch format {
	case "json":
		l.json = true
	case "github":
		l.github, l.colour = true, Colours(out, getenv)
	case "console":
		l.colour = Colours(out, getenv)
		if f, ok := Terminal(out, getenv); ok && level <= zerolog.InfoLevel && getenv("CI") == "" {
			l.screen = &screen{out: out, size: func() (cols, rows int) { return size(f) }}
		}
	default:
		return nil, fmt.Errorf("invalid log format %q: use auto, console, json or github", o.Format)
	}
	return l, nil
}

// Terminal returns a stream that is a terminal which can move the cursor.
func Terminal(out io.Writer, getenv func(string) string) (*os.File, bool) {
	f, ok := terminal(out)
	return f, ok && getenv("TERM") != "dumb"
}

// terminal returns a stream that is a terminal, also one that a writer passes everything on to.
func terminal(out io.Writer) (*os.File, bool) {
	if w, ok := out.(interface{ Unwrap() io.Writer }); ok {
		out = w.Unwrap()
	}
	f, ok := out.(*os.File)
	return f, ok && isatty.IsTerminal(f.Fd())
}

// Displayed reports whether a stream is read by people or by a CI that executes commands in
// it: it is a terminal, or the output of a step of a GitHub workflow.
func Displayed(out io.Writer, getenv func(string) string) bool {
	_, ok := terminal(out)
	return getenv("GITHUB_ACTIONS") == "true" || ok
}

// Colours reports whether a stream has colours: on a terminal, or if a variable requires
// them, for example in a CI's log. NO_COLOR overrides them.
func Colours(out io.Writer, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE"} {
		if value := getenv(name); value != "" && value != "0" {
			return true
		}
	}
	_, ok := Terminal(out, getenv)
	return ok
}

// size returns the size of a terminal, 80×24 if it is unknown.
func size(f *os.File) (cols, rows int) {
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 || w.Row == 0 {
		return 80, 24
	}
	return int(w.Col), int(w.Row)
}

// Follow updates the log at each tick: live lines on a terminal, and elsewhere a line
// after [Silence]. What it suggests is for the directory dir; reports is the report
// directory. The caller calls stop after the last event: it removes the live lines.
func (l *Log) Follow(dir, reports string, ticks <-chan time.Time) (stop func()) {
	l.directories = directories{dir, reports}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case at := <-ticks:
				l.tick(at)
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.screen != nil {
			l.screen.draw("\n", nil) // before the result
			l.screen = nil
		}
	}
}

// Live reports whether the log has live lines.
func (l *Log) Live() bool { return l.screen != nil }

// Annotated reports whether the log is that of a GitHub step, which shows annotations, and,
// for warnings, whether its level includes them.
func (l *Log) Annotated(warnings bool) bool {
	return l.github && (!warnings || l.level <= zerolog.WarnLevel)
}

// Suspend removes the live lines, calls stop, which stops the process, and draws them again.
func (l *Log) Suspend(stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.screen != nil {
		l.screen.draw("", nil)
	}
	stop()
	if l.screen != nil {
		l.print("") // the next tick updates the times
	}
}

// Emit writes the lines of an event.
func (l *Log) Emit(e event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.apply(e)
	entry, text := describe(e, &l.state, l.directories), ""
	if entry.text != "" && entry.level >= l.level && (!entry.start || l.screen == nil) {
		l.last = e.Time
		text = l.format(e, entry)
	}
	if e.Type == event.JobEnded {
		l.state.remove(e.Job)
	}
	if text != "" {
		l.print(text) // the next tick updates the live lines
	}
	return nil
}

// format returns the lines of an entry.
func (l *Log) format(e event.Event, entry entry) string {
	if l.json {
		return l.formatJSON(e, entry)
	}
	return l.formatText(e, entry)
}

// print writes text for people above the live lines.
func (l *Log) print(text string) {
	if l.screen != nil {
		l.screen.draw(text, l.state.lines(l.screen))
	} else {
		io.WriteString(l.out, text) //nolint:errcheck // see Log
	}
}

// tick updates the live lines, or prints what is running after a silence.
func (l *Log) tick(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.now = at
	switch {
	case l.screen != nil:
		l.print("")
	case at.Sub(l.last) >= Silence && len(l.state.running) > 0 && l.level <= zerolog.InfoLevel:
		l.last = at
		l.print(l.format(event.Event{Type: Heartbeat, Time: at}, entry{level: zerolog.InfoLevel, text: "still running: " + l.state.summary(), style: dim}))
	}
}

// Heartbeat is the type of lines that say what is running after a silence. They belong to
// the log, not to the events of the run.
const Heartbeat event.Type = "heartbeat"
