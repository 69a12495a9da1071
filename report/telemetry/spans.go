package telemetry

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
)

// Names of attributes that are used more than once.
const (
	operation    = "gen_ai.operation.name"
	providerName = "gen_ai.provider.name"
	requestModel = "gen_ai.request.model"
	servedModel  = "gen_ai.response.model"
	toolName     = "gen_ai.tool.name"
	errorType    = "error.type"
	taskName     = "millhand.task"
	outcome      = "millhand.outcome"
	reasonCode   = "millhand.reason_code"
)

// span describes a span: those of the SDK can't be changed after their end, and their
// parents are started before them.
type span struct {
	id, parent trace.SpanID // parent is not valid for that of the run
	name       string
	kind       trace.SpanKind
	start, end int64 // nanoseconds since 1970
	attributes attributes
	failed     bool
	message    string // of a failure
}

// runName is the name of the span of a run.
const runName = "millhand run"

// runSpan returns the span of a run.
func runSpan(r *report.Report) span {
	run := r.Run
	s := span{id: ids(run.ID).span("run"), name: runName, kind: trace.SpanKindInternal, start: nanos(run.StartedAt.Time), end: nanos(run.FinishedAt.Time)}
	t := run.Totals
	s.attributes = attributes{}.text("millhand.run", run.ID).text(outcome, string(run.Outcome)).int("millhand.exit_code", int64(run.ExitCode)).
		int("millhand.jobs", int64(t.Jobs)).int("millhand.jobs_passed", int64(t.Passed)).int("millhand.jobs_failed", int64(t.Failed)).int("millhand.jobs_skipped", int64(t.Skipped)).
		text("cicd.pipeline.run.id", run.ID).text("cicd.pipeline.result", resultOf(outcomeOf(run)))
	s.attributes = total(s.attributes, t.Usage, t.CostUSD)
	if by := run.StartedBy; by != nil {
		s.attributes = s.attributes.text("millhand.ci", by.CI).text("millhand.ci_run_url", by.RunURL)
	}
	if run.Shard != nil {
		s.attributes = s.attributes.int("millhand.shard", int64(run.Shard.Index)).int("millhand.shards", int64(run.Shard.Total))
	}
	if resultOf(outcomeOf(run)) != "success" {
		s.fail(string(run.Outcome), "")
	}
	return s
}

// outcomeOf returns the outcome of a run; passed if waves of a rollout remain and no job
// decides its exit code.
func outcomeOf(run report.Run) event.Outcome {
	if run.Outcome == event.Waiting && run.ExitCode == event.ExitOK {
		return event.Passed
	}
	return run.Outcome
}

// resultOf returns the value of cicd.pipeline.result for an outcome.
func resultOf(o event.Outcome) string {
	switch o {
	case event.Passed:
		return "success"
	case event.Skipped:
		return "skip"
	case event.Cancelled:
		return "cancellation"
	case event.Error, event.Provider, event.Publish:
		return "error"
	default:
		return "failure"
	}
}

// fail marks the span as failed. The message is a code, not a text of a model or a server.
func (s *span) fail(kind, message string) {
	s.attributes = s.attributes.text(errorType, kind)
	s.failed, s.message = true, message
}

// extend moves the end of the span to a later time.
func (s *span) extend(end int64) { s.end = max(s.end, end) }

// total adds usage and cost of a job or run. The names are not those of the conventions:
// backends would add the tokens to those of the model calls.
func total(a attributes, u money.Usage, usd *money.USD) attributes {
	return cost(a.int("millhand.input_tokens", u.Input).int("millhand.output_tokens", u.Output), usd)
}

// usage adds usage and cost of a model call or session.
func usage(a attributes, u money.Usage, usd *money.USD) attributes {
	a = a.int("gen_ai.usage.input_tokens", u.Input).int("gen_ai.usage.output_tokens", u.Output).
		some("gen_ai.usage.cache_read.input_tokens", u.CacheRead).some("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite).
		some("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
	return cost(a, usd)
}

// cost adds a cost unless it is unknown.
func cost(a attributes, usd *money.USD) attributes {
	if usd == nil {
		return a
	}
	return a.double("millhand.cost_usd", usd.Dollars())
}

// tree makes the spans of one job.
type tree struct {
	ids
	job       *report.Job
	started   map[string]trace.SpanID // span of the first call that started a child session
	responded map[turnKey]int64       // end of the model call
}

type turnKey struct {
	session string
	turn    int
}

// jobSpans returns the spans of a job, the job's first; none for a job that did not start.
func jobSpans(run string, j *report.Job) []span {
	if j.StartedAt.IsZero() {
		return nil
	}
	t := &tree{ids: ids(run), job: j, started: map[string]trace.SpanID{}, responded: map[turnKey]int64{}}
	below := t.jobSpan()
	turns := t.turns()
	calls := t.calls()
	all := append(append(append(t.sessionSpans(turns, calls), turns...), calls...), append(t.phases(), t.verifies()...)...)
	for i := range all {
		below.extend(all[i].end)
	}
	return append([]span{below}, all...)
}

// lasting returns a span of the run from a time, for so many milliseconds.
func (t *tree) lasting(id, parent trace.SpanID, name string, from time.Time, ms int64) span {
	start := nanos(from)
	return span{
		id: id, parent: parent, name: name, kind: trace.SpanKindInternal,
		start: start, end: start + max(0, ms)*int64(time.Millisecond),
	}
}

func (t *tree) jobID() trace.SpanID { return t.span("job", t.job.ID) }

func (t *tree) jobSpan() span {
	j := t.job
	s := t.lasting(t.jobID(), t.span("run"), "job "+cmp.Or(label(j.Task), "unknown"), j.StartedAt.Time, j.ElapsedMS)
	s.attributes = attributes{}.text("millhand.run", string(t.ids)).text("millhand.job", j.ID).text(taskName, j.Task).text("millhand.repo", j.Repo).
		text(outcome, string(j.Outcome)).text(reasonCode, string(j.ReasonCode)).text("millhand.profile", j.Profile).text("millhand.sandbox", j.Sandbox.Level).
		int("millhand.attempts", int64(j.Attempts)).int("millhand.turns", int64(j.Turns)).int("millhand.calls", int64(len(j.Calls))).
		int("millhand.denied", int64(len(j.Denied))).int("millhand.retries", int64(j.Retries)).int("millhand.changes", int64(len(j.Changes)))
	s.attributes = total(s.attributes.text("millhand.model", j.Model), j.Usage, j.CostUSD).
		text("cicd.pipeline.task.name", j.Task).text("cicd.pipeline.task.run.id", j.ID).text("cicd.pipeline.task.run.result", resultOf(j.Outcome)).
		text("vcs.repository.name", j.Repo)
	if j.Base != nil {
		s.attributes = s.attributes.text("vcs.ref.base.name", j.Base.Ref).text("vcs.ref.base.revision", j.Base.Commit)
	}
	if j.Commit != nil {
		s.attributes = s.attributes.text("vcs.ref.head.name", j.Commit.Branch).text("vcs.ref.head.revision", j.Commit.Hash)
	}
	if j.Published != nil {
		s.attributes = s.attributes.text("vcs.repository.url.full", j.Published.Remote)
	}
	if j.Outcome != event.Passed && j.Outcome != event.Skipped {
		s.fail(cmp.Or(string(j.ReasonCode), string(j.Outcome)), string(j.ReasonCode))
	}
	return s
}

// phases returns the spans of the phases, without that of the session, whose time is that
// of the sessions and verify commands.
func (t *tree) phases() []span {
	var all []span
	for i, p := range t.job.Phases {
		if p.Name == "session" || p.StartedAt.IsZero() {
			continue
		}
		s := t.lasting(t.span("phase", t.job.ID, strconv.Itoa(i), p.Name), t.jobID(), "phase "+label(p.Name), p.StartedAt.Time, p.ElapsedMS)
		s.attributes = attributes{}.text("millhand.phase", p.Name)
		if p.Error != "" {
			s.fail("_OTHER", "")
		}
		all = append(all, s)
	}
	return all
}

func (t *tree) verifies() []span {
	var all []span
	for i, v := range t.job.Verify {
		if v.StartedAt.IsZero() {
			continue
		}
		s := t.lasting(t.span("verify", t.job.ID, strconv.Itoa(i)), t.jobID(), "verify "+label(v.Name), v.StartedAt.Time, v.ElapsedMS)
		s.attributes = attributes{}.text("millhand.verify", v.Name).bool("millhand.verify.passed", v.Passed).int("millhand.attempt", int64(v.Attempt)).
			int("process.exit.code", int64(v.ExitCode)).text("millhand.verify.in", v.In)
		if !v.Passed {
			s.fail("verify_failed", "")
		}
		all = append(all, s)
	}
	return all
}

func (t *tree) sessionID(session string) trace.SpanID { return t.span("session", t.job.ID, session) }

// sessionSpans returns the spans of the sessions. Each lasts from the start of its first
// turn or call to the end of the last.
func (t *tree) sessionSpans(below ...[]span) []span {
	from, to := map[trace.SpanID]int64{}, map[trace.SpanID]int64{}
	for _, spans := range below {
		for _, s := range spans {
			if first, ok := from[s.parent]; !ok || s.start < first {
				from[s.parent] = s.start
			}
			to[s.parent] = max(to[s.parent], s.end)
		}
	}
	var all []span
	for _, one := range t.job.Sessions {
		id, parent := t.sessionID(one.ID), t.jobID()
		if one.Parent != nil {
			parent = cmp.Or(t.started[one.ID], t.sessionID(*one.Parent))
		}
		s := t.lasting(id, parent, "invoke_agent "+label(one.Agent), t.job.StartedAt.Time, 0)
		if first, ok := from[id]; ok {
			s.start, s.end = first, to[id]
		}
		s.attributes = attributes{}.text(operation, "invoke_agent").text("gen_ai.agent.name", one.Agent).text("gen_ai.conversation.id", one.ID)
		s.attributes = usage(modelNames(s.attributes, one.Model, ""), one.Usage, one.CostUSD).
			text("millhand.job", t.job.ID).int("millhand.turns", int64(one.Turns)).text("millhand.end", one.End)
		if one.End != "" && one.End != "done" {
			s.fail(one.End, "")
		}
		all = append(all, s)
	}
	return all
}

// turns returns the spans of the model calls.
func (t *tree) turns() []span {
	var all []span
	for _, one := range t.job.Sessions {
		for _, c := range one.TurnCosts {
			if c.StartedAt.IsZero() {
				continue // an earlier release did not record it
			}
			_, model := splitModel(c.Model)
			s := t.lasting(t.span("turn", t.job.ID, one.ID, strconv.Itoa(c.Turn)), t.sessionID(one.ID), "chat "+label(model), c.StartedAt.Time, c.ElapsedMS)
			s.kind = trace.SpanKindClient
			t.responded[turnKey{one.ID, c.Turn}] = s.end
			s.attributes = modelNames(attributes{}.text(operation, "chat"), c.Model, c.Served).
				text("gen_ai.conversation.id", one.ID).texts("gen_ai.response.finish_reasons", c.Finish)
			s.attributes = usage(s.attributes, c.Usage, c.CostUSD).int("millhand.turn", int64(c.Turn)).some("millhand.retries", int64(c.Retries))
			if c.Error != "" {
				s.fail("_OTHER", "")
			}
			all = append(all, s)
		}
	}
	return all
}

// calls returns the spans of the tool calls, and records which started child sessions.
func (t *tree) calls() []span {
	type key struct {
		turnKey
		id string
	}
	seen := map[key]int{}
	var all []span
	for _, c := range t.job.Calls {
		k := key{turnKey{c.Session, c.Turn}, c.ID}
		seen[k]++
		id := t.span("call", t.job.ID, c.Session, strconv.Itoa(c.Turn), c.ID, strconv.Itoa(seen[k]))
		if m := c.Metadata; m != nil && m.ChildSession != "" && !t.started[m.ChildSession].IsValid() {
			t.started[m.ChildSession] = id
		}
		all = append(all, t.call(id, &c))
	}
	return all
}

func (t *tree) call(id trace.SpanID, c *report.Call) span {
	s := t.lasting(id, t.sessionID(c.Session), "execute_tool "+label(toolOf(c)), c.StartedAt.Time, c.ElapsedMS)
	if c.StartedAt.IsZero() { // it was denied or invalid, after the response
		s.start = cmp.Or(t.responded[turnKey{c.Session, c.Turn}], nanos(t.job.StartedAt.Time))
		s.end = s.start
	}
	s.attributes = attributes{}.text(operation, "execute_tool").text(toolName, c.Tool).text("gen_ai.tool.call.id", c.ID).text("gen_ai.tool.type", toolType(c)).
		text("gen_ai.conversation.id", c.Session).int("millhand.turn", int64(c.Turn)).text("millhand.call.status", string(c.Status)).
		text("millhand.extension", c.Extension).int("millhand.output_bytes", c.OutputBytes)
	if c.Decision != nil {
		s.attributes = s.attributes.text("millhand.decision", c.Decision.Effect).text("millhand.rule", c.Decision.Rule).text("millhand.rule_source", c.Decision.Source)
	}
	if c.CostShareUSD != nil {
		s.attributes = s.attributes.double("millhand.cost_share_usd", c.CostShareUSD.Dollars())
	}
	if m := c.Metadata; m != nil {
		if m.ExitCode != nil {
			s.attributes = s.attributes.int("process.exit.code", int64(*m.ExitCode))
		}
		s.attributes = s.attributes.some("http.response.status_code", int64(m.HTTPStatus))
	}
	switch c.Status {
	case event.CallDenied:
		s.attributes = s.attributes.bool("millhand.denied", true)
		s.fail("denied", "")
	case event.CallError:
		s.fail("_OTHER", "")
	default:
	}
	return s
}

// toolOf returns the tool of a call for names of spans and metrics, which must be few: that
// of a failed call without a decision may be any text of a model.
func toolOf(c *report.Call) string {
	if c.Decision == nil && c.Status != event.CallCompleted {
		return "_OTHER"
	}
	return c.Tool
}

// toolType returns extension for tools of programs such as MCP servers.
func toolType(c *report.Call) string {
	if c.Extension != "" {
		return "extension"
	}
	return "function"
}

// modelNames adds the provider and the names of a model.
func modelNames(a attributes, model, served string) attributes {
	of, name := splitModel(model)
	return a.text(providerName, of).text(requestModel, name).text(servedModel, served)
}

// splitModel returns the provider, as the conventions name it, and the name of a model.
func splitModel(model string) (of, name string) {
	at := strings.IndexAny(model, "/:")
	if at < 0 {
		return "_OTHER", model
	}
	of, name = model[:at], model[at+1:]
	if k, ok := kinds.Lookup(of); ok {
		of = cmp.Or(k.Telemetry, of)
	}
	return of, name
}

// label formats a name in the name of a span.
func label(s string) string {
	var a attributes
	if a = a.text("", s); len(a) == 0 {
		return "unknown"
	}
	return a[0].Value.AsString()
}

// nanos is a time in OTLP; 0 if it is unknown.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.UnixNano())
}
