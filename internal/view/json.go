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
	if add, ok := jsonFields.Find(&e); ok {
		add(to, e)
	}
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

// jsonFields adds the fields of an event.
var jsonFields = event.Walk[func(*fields, event.Event)]{
	On: map[event.Type]func(*fields, event.Event){
		event.RunStarted:   func(f *fields, e event.Event) { f.run(e.Run) },
		event.JobStarted:   func(f *fields, e event.Event) { f.start(e.JobStart) },
		event.PhaseStarted: func(f *fields, e event.Event) { f.phase(e.Phase) },
		event.PhaseEnded: func(f *fields, e event.Event) {
			f.phase(e.Phase)
			f.Int64("elapsed_ms", e.Phase.ElapsedMS)
		},
		event.CommandStarted: func(f *fields, e event.Event) { f.command(e.Command) },
		event.CommandEnded:   func(f *fields, e event.Event) { f.command(e.Command) },
		event.BaselineEnded:  func(f *fields, e event.Event) { f.baseline(e.Baseline) },
		event.ScriptEnded:    func(f *fields, e event.Event) { f.script(e.Script) },
		event.AttemptStarted: func(f *fields, e event.Event) { f.Int("attempt", e.Attempt.Number) },
		event.RequestRetried: func(f *fields, e event.Event) { f.retry(e.Retry) },
		event.CallUpdated:    func(f *fields, e event.Event) { f.call(e.Call) },
		event.TurnEnded:      func(f *fields, e event.Event) { f.turn(e.Turn) },
		event.Pruned: func(f *fields, e event.Event) {
			f.Int("results", e.Prune.Results).Int64("before", e.Prune.Before).Int64("after", e.Prune.After)
		},
		event.Compacted: func(f *fields, e event.Event) {
			f.Int("messages", e.Compaction.Messages).Int64("before", e.Compaction.Before).Int64("after", e.Compaction.After)
		},
		event.VerifyEnded: func(f *fields, e event.Event) { f.verify(e.Verify) },
		event.AblationStarted: func(f *fields, e event.Event) {
			f.Int("hunks", e.Ablation.Hunks).Int("tests", e.Ablation.Tests).Int("max_runs", e.Ablation.MaxRuns).Int64("time_ms", e.Ablation.TimeMS)
		},
		event.TrialEnded: func(f *fields, e event.Event) {
			f.Int("failed", len(e.Trial.Failed)).Int64("elapsed_ms", e.Trial.ElapsedMS)
		},
		event.AblationEnded: func(f *fields, e event.Event) {
			f.Int("needed", e.Hunks.Needed).Int("unneeded", e.Hunks.Unneeded).Int("untried", e.Hunks.Untried).Int64("elapsed_ms", e.Hunks.ElapsedMS)
		},
		event.ModelEscalated: func(f *fields, e event.Event) {
			f.text("from", e.Escalation.From)
			f.text("to", e.Escalation.To)
			f.text("reason", e.Escalation.Reason)
			f.Int("attempt", e.Escalation.Attempt)
		},
		event.ReviewEnded:        func(f *fields, e event.Event) { f.review(e.Review) },
		event.ChangesFound:       func(f *fields, e event.Event) { f.changes(e.Changes) },
		event.CommitStarted:      func(f *fields, e event.Event) { f.commit(e.Commit) },
		event.Committed:          func(f *fields, e event.Event) { f.commit(e.Commit) },
		event.PublishStarted:     func(f *fields, e event.Event) { f.published(e.Published) },
		event.CommitPublished:    func(f *fields, e event.Event) { f.published(e.Published) },
		event.PullRequestStarted: func(f *fields, e event.Event) { f.published(e.Published) },
		event.CommentStarted:     func(f *fields, e event.Event) { f.comment(e.Comment) },
		event.CommentPosted:      func(f *fields, e event.Event) { f.comment(e.Comment) },
		event.JobEnded:           func(f *fields, e event.Event) { f.end(e.JobEnd) },
		event.UntrustedRead:      func(f *fields, e event.Event) { f.untrusted(e.Untrusted) },
		event.NetworkRequested:   func(f *fields, e event.Event) { f.network(e.Network) },
		event.RunEnded: func(f *fields, e event.Event) {
			f.text("outcome", string(e.RunEnd.Outcome))
			f.Int("exit_code", int(e.RunEnd.ExitCode)).Int64("elapsed_ms", e.RunEnd.ElapsedMS)
		},

		event.ForgeRequestStarted: func(f *fields, e event.Event) { f.forgeRequest(e.ForgeRequest) },
		event.ForgeRequestEnded:   func(f *fields, e event.Event) { f.forgeRequest(e.ForgeRequest) },
	},
	Ignores: []event.Type{
		event.TurnStarted, event.ModelText, event.WarningIssued, // the text has everything
		event.SessionStarted, event.SessionEnded, event.FilesLeft, event.ExtensionChanged, event.RevertStarted, event.Reverted, event.Sealed, // not logged
	},
}

func (f *fields) untrusted(u *event.Untrusted) {
	f.text("read", u.What)
	if u.Call != "" {
		f.text("call", u.Call)
	}
}

func (f *fields) run(r *event.Run) {
	f.text("run", r.ID)
	f.Int("jobs", len(r.Jobs))
	if r.MaxCostUSD != nil {
		f.cost("max_cost_usd", r.MaxCostUSD)
	}
}

func (f *fields) start(s *event.JobStart) {
	f.text("workspace", s.Workspace)
	f.text("repository", s.Repository)
	f.text("base", s.Base)
	f.text("branch", s.Branch)
	f.text("sandbox", s.Sandbox.Level)
}

func (f *fields) changes(all []event.Change) {
	added, removed := 0, 0
	for _, c := range all {
		added, removed = added+c.Added, removed+c.Removed
	}
	f.Int("files", len(all)).Int("added", added).Int("removed", removed)
}

func (f *fields) commit(c *event.Commit) {
	f.text("commit", c.Hash)
	f.text("branch", c.Branch)
}

func (f *fields) published(p *event.Published) {
	f.text("remote", p.Remote)
	f.text("branch", p.Branch)
	f.text("commit", p.Hash)
	if pr := p.PullRequest; pr != nil {
		f.text("pull_request", pr.URL)
	}
}

func (f *fields) comment(c *event.Comment) {
	f.text("remote", c.Remote)
	f.Int64("number", c.Number)
	f.text("comment", c.URL)
}

func (f *fields) forgeRequest(r *event.ForgeRequest) {
	f.text("request", r.What())
	f.text("outcome", string(r.Outcome))
	f.text("reason", r.Reason)
	f.text("url", r.URL)
}

func (f *fields) end(e *event.JobEnd) {
	f.text("outcome", string(e.Outcome))
	f.text("reason", e.Reason)
	f.text("reason_code", string(e.Code))
	f.Int("exit_code", int(e.ExitCode)).Int("attempts", e.Attempts).Int("turns", e.Turns)
	f.cost("cost_usd", e.CostUSD)
	f.Int64("elapsed_ms", e.ElapsedMS)
	f.text("final_message", e.FinalMessage)
	f.text("patch", e.Patch)
}

func (f *fields) script(s *event.Script) {
	f.text("file", s.File)
	f.text("outcome", s.Outcome)
	f.text("reason", s.Reason)
	f.Int("exit_code", s.ExitCode).Int64("elapsed_ms", s.ElapsedMS)
	f.text("tail", s.Tail)
}

func (f *fields) review(r *event.Review) {
	f.Int("attempt", r.Attempt)
	f.text("model", r.Model)
	f.text("verdict", string(r.Verdict))
	f.text("reason", r.Reason)
	f.count("objections", len(r.Objections))
}

func (f *fields) phase(p *event.Phase) {
	f.text("phase", p.Name)
	f.text("error", p.Error)
}

func (f *fields) command(c *event.Command) {
	f.text("kind", c.Kind)
	f.text("name", c.Name)
	f.text("command", c.Run)
	f.text("in", c.In)
	f.count("attempt", c.Attempt)
	if c.ExitCode != nil {
		f.Int("exit_code", *c.ExitCode).Int64("elapsed_ms", c.ElapsedMS)
	}
}

func (f *fields) baseline(b *event.Baseline) {
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
}

func (f *fields) verify(v *event.Verify) {
	f.text("name", v.Name)
	f.text("in", v.In)
	f.count("attempt", v.Attempt)
	f.Bool("passed", v.Passed).Int("exit_code", v.ExitCode).Int64("elapsed_ms", v.ElapsedMS)
	f.text("tail", v.Tail)
	f.text("output_path", v.OutputPath)
	f.count("timeout_ms", int(v.TimeoutMS))
}

func (f *fields) network(n *event.Network) {
	f.text("method", n.Method)
	f.text("host", n.Host)
	f.Int("port", n.Port).Bool("denied", n.Denied)
	f.text("error", n.Error)
	f.text("fix", n.Fix)
}

func (f *fields) turn(t *event.Turn) {
	f.text("model", t.Model)
	f.text("finish", t.Finish)
	if u := t.Usage; u != nil {
		f.Int64("input", u.Input).Int64("output", u.Output).Int64("reasoning", u.Reasoning).Int64("cache_read", u.CacheRead).Int64("cache_write", u.CacheWrite)
	}
	f.cost("turn_cost_usd", t.CostUSD)
	f.Int64("elapsed_ms", t.ElapsedMS)
	f.text("error", t.Error)
}

func (f *fields) retry(r *event.Retry) {
	f.count("attempt", r.Attempt)
	f.Int64("wait_ms", r.WaitMS)
	f.text("error", r.Error)
	f.text("from", r.From)
	f.text("to", r.To)
	if r.Outage {
		f.Bool("outage", true)
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
