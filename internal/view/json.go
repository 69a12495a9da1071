package view

import (
	"strings"

	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/printable"
)

// formatJSON returns an entry as a line of JSON: time, level, event, message, and the
// fields that docs/log.md lists.
func (l *Log) formatJSON(e event.Event, entry entry) string {
	var line strings.Builder
	log := zerolog.New(&line)
	to := &fields{log.WithLevel(entry.level).Str("time", e.Time.Format("2006-01-02T15:04:05.000Z07:00")).Str("event", string(e.Type))} //nolint:zerologlint // sent below, by the type that embeds it
	to.text("job", e.Job)
	to.text("session", e.Session)
	if e.Job != "" {
		j := l.state.find(e.Job)
		to.count("turn", j.turn(e.Session))
		if e.Type != event.JobEnded && j.cost.known {
			to.cost("cost_usd", &j.cost.usd)
		}
	}
	to.run(e)
	to.commands(e)
	to.model(e)
	to.Msg(printable.Text(entry.text))
	return line.String()
}

// fields are the fields of a line. Texts of others are made printable; empty ones are
// left out.
type fields struct{ *zerolog.Event }

func (f *fields) text(key, value string) {
	if value != "" {
		f.Str(key, printable.Text(value))
	}
}

func (f *fields) count(key string, n int) {
	if n > 0 {
		f.Int(key, n)
	}
}

func (f *fields) cost(key string, usd *money.USD) {
	if usd == nil {
		f.RawJSON(key, []byte("null"))
	} else if text, err := usd.MarshalJSON(); err == nil {
		f.RawJSON(key, text)
	}
}

// run adds the fields of events of the run and its jobs.
func (f *fields) run(e event.Event) {
	switch {
	case e.Run != nil:
		f.text("run", e.Run.ID)
		f.Int("jobs", len(e.Run.Jobs))
		if e.Run.MaxCostUSD != nil {
			f.cost("max_cost_usd", e.Run.MaxCostUSD)
		}
	case e.JobStart != nil:
		f.text("workspace", e.JobStart.Workspace)
		f.text("repository", e.JobStart.Repository)
		f.text("base", e.JobStart.Base)
		f.text("branch", e.JobStart.Branch)
		f.text("sandbox", e.JobStart.Sandbox.Level)
	case e.Type == event.ChangesFound:
		added, removed := 0, 0
		for _, c := range e.Changes {
			added, removed = added+c.Added, removed+c.Removed
		}
		f.Int("files", len(e.Changes)).Int("added", added).Int("removed", removed)
	case e.Commit != nil:
		f.text("commit", e.Commit.Hash)
		f.text("branch", e.Commit.Branch)
	case e.Published != nil:
		f.text("remote", e.Published.Remote)
		f.text("branch", e.Published.Branch)
		f.text("commit", e.Published.Hash)
		if pr := e.Published.PullRequest; pr != nil {
			f.text("pull_request", pr.URL)
		}
	case e.Comment != nil:
		f.text("remote", e.Comment.Remote)
		f.Int64("number", e.Comment.Number)
		f.text("comment", e.Comment.URL)
	case e.JobEnd != nil:
		f.text("outcome", string(e.JobEnd.Outcome))
		f.text("reason", e.JobEnd.Reason)
		f.text("reason_code", string(e.JobEnd.Code))
		f.Int("exit_code", int(e.JobEnd.ExitCode)).Int("attempts", e.JobEnd.Attempts).Int("turns", e.JobEnd.Turns)
		f.cost("cost_usd", e.JobEnd.CostUSD)
		f.Int64("elapsed_ms", e.JobEnd.ElapsedMS)
		f.text("final_message", e.JobEnd.FinalMessage)
		f.text("patch", e.JobEnd.Patch)
	case e.RunEnd != nil:
		f.text("outcome", string(e.RunEnd.Outcome))
		f.Int("exit_code", int(e.RunEnd.ExitCode)).Int64("elapsed_ms", e.RunEnd.ElapsedMS)
	}
}

// script adds the fields of a script.
func (f *fields) script(s *event.Script) {
	f.text("file", s.File)
	f.text("outcome", s.Outcome)
	f.text("reason", s.Reason)
	f.Int("exit_code", s.ExitCode).Int64("elapsed_ms", s.ElapsedMS)
	f.text("tail", s.Tail)
}

// commands adds the fields of phases, commands and connections.
func (f *fields) commands(e event.Event) {
	switch {
	case e.Phase != nil:
		f.text("phase", e.Phase.Name)
		f.text("error", e.Phase.Error)
		if e.Type == event.PhaseEnded {
			f.Int64("elapsed_ms", e.Phase.ElapsedMS)
		}
	case e.Command != nil:
		f.text("kind", e.Command.Kind)
		f.text("name", e.Command.Name)
		f.text("command", e.Command.Run)
		f.text("in", e.Command.In)
		f.count("attempt", e.Command.Attempt)
		if e.Command.ExitCode != nil {
			f.Int("exit_code", *e.Command.ExitCode).Int64("elapsed_ms", e.Command.ElapsedMS)
		}
	case e.Baseline != nil:
		b := e.Baseline
		f.text("name", b.Name)
		f.text("in", b.In)
		f.Bool("passed", b.Passed).Bool("shared", b.Shared).Int("exit_code", b.ExitCode).Int64("elapsed_ms", b.ElapsedMS)
		f.text("tail", b.Tail)
		f.text("output_path", b.OutputPath)
		f.count("timeout_ms", int(b.TimeoutMS))
		if b.Fault != nil {
			f.text("kind", b.Fault.Kind)
			f.text("evidence", b.Fault.Evidence)
			f.text("fix", b.Fault.Fix)
		}
	case e.Script != nil:
		f.script(e.Script)
	case e.Verify != nil:
		f.text("name", e.Verify.Name)
		f.text("in", e.Verify.In)
		f.count("attempt", e.Verify.Attempt)
		f.Bool("passed", e.Verify.Passed).Int("exit_code", e.Verify.ExitCode).Int64("elapsed_ms", e.Verify.ElapsedMS)
		f.text("tail", e.Verify.Tail)
		f.text("output_path", e.Verify.OutputPath)
		f.count("timeout_ms", int(e.Verify.TimeoutMS))
	case e.Network != nil:
		f.text("method", e.Network.Method)
		f.text("host", e.Network.Host)
		f.Int("port", e.Network.Port).Bool("denied", e.Network.Denied)
		f.text("error", e.Network.Error)
		f.text("fix", e.Network.Fix)
	}
}

// model adds the fields of events of a session.
func (f *fields) model(e event.Event) {
	switch {
	case e.Attempt != nil:
		f.Int("attempt", e.Attempt.Number)
	case e.Type == event.TurnEnded:
		f.text("model", e.Turn.Model)
		f.text("finish", e.Turn.Finish)
		if u := e.Turn.Usage; u != nil {
			f.Int64("input", u.Input).Int64("output", u.Output).Int64("reasoning", u.Reasoning).Int64("cache_read", u.CacheRead).Int64("cache_write", u.CacheWrite)
		}
		f.cost("turn_cost_usd", e.Turn.CostUSD)
		f.Int64("elapsed_ms", e.Turn.ElapsedMS)
		f.text("error", e.Turn.Error)
	case e.Retry != nil:
		f.count("attempt", e.Retry.Attempt)
		f.Int64("wait_ms", e.Retry.WaitMS)
		f.text("error", e.Retry.Error)
		f.text("from", e.Retry.From)
		f.text("to", e.Retry.To)
		if e.Retry.Outage {
			f.Bool("outage", true)
		}
	case e.Call != nil:
		f.call(e.Call)
	case e.Prune != nil:
		f.Int("results", e.Prune.Results).Int64("before", e.Prune.Before).Int64("after", e.Prune.After)
	case e.Compaction != nil:
		f.Int("messages", e.Compaction.Messages).Int64("before", e.Compaction.Before).Int64("after", e.Compaction.After)
	}
}

func (f *fields) call(c *event.Call) {
	f.text("call", c.ID)
	f.text("tool", c.Tool)
	f.text("status", string(c.Status))
	f.text("title", c.Title)
	if command := commandLine(c); command != "" {
		f.text("command", command)
	}
	if c.Decision != nil {
		f.text("decision", c.Decision.Effect)
		f.text("rule", c.Decision.Rule)
	}
	f.text("error", c.Error)
	if c.Status != event.CallRunning {
		f.Int64("output_bytes", c.OutputBytes).Bool("truncated", c.Truncated).Int64("elapsed_ms", c.ElapsedMS)
	}
}
