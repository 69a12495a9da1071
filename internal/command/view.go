package command

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

// newView makes the sink that tells a person, or a CI's log, what a run does.
func newView(c *cli.Context, w World) (event.Sink, error) {
	level, err := zerolog.ParseLevel(c.String("log-level"))
	if err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, c.String("log-level")) {
		return nil, fail(event.ExitUsage, "there is no log level %q: use debug, info, warn or error", c.String("log-level"))
	}
	if c.Bool("quiet") {
		level = max(level, zerolog.ErrorLevel)
	}
	format := c.String("log-format")
	if format == "auto" {
		format = "console"
		if w.Getenv("GITHUB_ACTIONS") == "true" {
			format = "github"
		}
	}
	switch format {
	case "console":
		return newConsole(w.Err, level, colours(w)), nil
	case "github":
		return newGitHubLog(w.Err, level), nil
	case "json":
		return newJSONLog(w.Err, level), nil
	}
	return nil, fail(event.ExitUsage, "there is no log format %q: use auto, console, json or github", format)
}

// colours reports whether the log goes to a person's terminal that wants them.
func colours(w World) bool {
	f, ok := w.Err.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && w.Getenv("NO_COLOR") == "" && w.Getenv("TERM") != "dumb"
}

// newJSONLog writes each event as a line of JSON with a level and a message.
func newJSONLog(out io.Writer, level zerolog.Level) event.Sink {
	log := zerolog.New(out).Level(level)
	return event.SinkFunc(func(e event.Event) error {
		if l := line(e); l.text != "" {
			log.WithLevel(l.level).Time("time", e.Time).Str("event", string(e.Type)).Str("job", e.Job).Msg(printable(l.text))
		}
		return nil
	})
}

// logLine is an event in words; an empty text means that it is not worth a line.
type logLine struct {
	level zerolog.Level
	text  string
}

// line puts an event into one line of words, without the job's name.
func line(e event.Event) logLine {
	switch e.Type {
	case event.RunStarted:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("run %s: %s", e.Run.ID, plural(len(e.Run.Jobs), "job"))}
	case event.JobStarted:
		return logLine{zerolog.InfoLevel, "works in " + e.JobStart.Workspace}
	case event.PhaseEnded:
		return logLine{zerolog.DebugLevel, fmt.Sprintf("phase %s took %s", e.Phase.Name, duration(e.Phase.ElapsedMS))}
	case event.AttemptStarted:
		if e.Attempt.Number > 1 {
			return logLine{zerolog.InfoLevel, fmt.Sprintf("attempt %d", e.Attempt.Number)}
		}
	case event.TextSaid:
		return logLine{zerolog.InfoLevel, "says: " + e.Text.Text}
	case event.RetryMade:
		if e.Retry.To != "" {
			return logLine{zerolog.WarnLevel, fmt.Sprintf("%s is down, and %s answers from now on: %s", e.Retry.From, e.Retry.To, e.Retry.Error)}
		}
		return logLine{zerolog.WarnLevel, fmt.Sprintf("the model request failed and is made again in %s: %s", duration(e.Retry.WaitMS), e.Retry.Error)}
	case event.CallChanged:
		return callLine(e.Call)
	case event.PruneMade:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("made room: the answers of %s are taken out or shortened (about %d tokens, were %d)", plural(e.Prune.Answers, "call"), e.Prune.After, e.Prune.Before)}
	case event.CompactionMade:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("made room: a summary stands for %s of the conversation (about %d tokens, were %d)", plural(e.Compaction.Messages, "message"), e.Compaction.After, e.Compaction.Before)}
	case event.VerifyEnded:
		return verifyLine(e.Verify)
	case event.CommitMade:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("committed %.10s on %s", e.Commit.Hash, e.Commit.Branch)}
	case event.WarningGiven:
		return logLine{zerolog.WarnLevel, e.Warning.Message}
	case event.JobEnded:
		return endLine(e.JobEnd)
	case event.RunEnded:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("run %s in %s", e.RunEnd.Outcome, duration(e.RunEnd.ElapsedMS))}
	default: // not worth a line
	}
	return logLine{}
}

func callLine(c *event.Call) logLine {
	switch c.Status {
	case event.CallCompleted:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("%s %s (%s)", c.Tool, c.Title, duration(c.ElapsedMS))}
	case event.CallError:
		return logLine{zerolog.InfoLevel, fmt.Sprintf("%s %s failed: %s", c.Tool, c.Title, c.Error)}
	case event.CallDenied:
		return logLine{zerolog.WarnLevel, fmt.Sprintf("%s %s", c.Tool, c.Error)}
	default:
		return logLine{}
	}
}

func verifyLine(v *event.Verify) logLine {
	if v.Passed {
		return logLine{zerolog.InfoLevel, fmt.Sprintf("verify %s passed (%s)", v.Name, duration(v.ElapsedMS))}
	}
	how := fmt.Sprintf("exit code %d", v.ExitCode)
	if v.ExitCode < 0 {
		how = "it was ended or could not be started"
	}
	return logLine{zerolog.WarnLevel, fmt.Sprintf("verify %s failed, %s (%s)", v.Name, how, duration(v.ElapsedMS))}
}

func endLine(j *event.JobEnd) logLine {
	text := fmt.Sprintf("%s: %s, %s, %s in %s", j.Outcome, plural(j.Attempts, "attempt"), plural(j.Turns, "turn"), dollars(j.CostUSD), duration(j.ElapsedMS))
	if j.Reason != "" {
		text += ": " + j.Reason
	}
	level := zerolog.InfoLevel
	if j.Outcome != event.Passed && j.Outcome != event.Skipped {
		level = zerolog.ErrorLevel
	}
	return logLine{level, text}
}
