package report

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/jsontext"
)

// job collects the events of one job.
type job struct {
	id       string
	planned  *event.PlannedJob // nil for a job that is not in the plan
	begun    bool
	begunAt  time.Time
	in       execution // of its last event
	start    *event.JobStart
	end      *event.JobEnd
	endedAt  time.Time
	endedIn  int       // in.run when it ended
	earlier  []earlier // replaced runs of the job, in a merged stream
	attempts int
	baseline []Baseline
	verify   []Verify

	verifiedIn, baselineIn execution // of the last event of each
	changes                found
	commit                 *event.Commit
	pushed                 *Published
	pull                   *event.PullRequest
	comment                *Comment
	requests               requests
	sessions               []*session // in the order of their first event
	calls                  calls
	changed                []Fallback
	environment            environment
	hunks                  *event.Hunks // of the last ablation; nil for none
	marked                 *MarkedBy
}

// found is what was found to differ in the workspace of a job.
type found struct {
	changes []event.Change
	leftOut []event.LeftOutPath
}

// earlier is the end of a run of a job that a later run replaced.
type earlier struct {
	at  time.Time
	end event.JobEnd // without texts
}

type session struct {
	id    string
	info  event.Session
	turns []*turn

	prunes, compactions int
	reverted            *int // turn; nil unless the session was reverted and not continued since then
}

type turn struct {
	number  int
	stage   int         // number of escalations before it
	usage   money.Usage // zero if the provider did not report it
	cost    *money.USD  // nil if unknown, and until the turn ends
	calls   int
	retries int
	waitMS  int64
	started time.Time
	end     event.Turn // zero until it ends
}

// add adds an event, of which the first starts the job: also without its payload, which the first pass of a merge removes.
func (j *job) add(e event.Event, take func(*job, event.Event), starts int) {
	j.in.run = starts
	if !j.begun {
		j.begun, j.begunAt = true, e.Time
	}
	if e.Complete() {
		take(j, e)
	}
}

func (j *job) takeStart(e event.Event) {
	j.reopen()
	j.in.start++
	j.start, j.marked = clone(e.JobStart), nil
	j.environment.basis.start(e.JobStart)
}

func (j *job) takeEnd(e event.Event) {
	j.reopen()
	end := *e.JobEnd
	end.Output, end.CostUSD = value(end.Output), clone(end.CostUSD)
	j.end, j.endedAt, j.endedIn = &end, e.Time, j.in.run
	j.calls.settle()
}

// reopen reverts the end of the job. If the run was resumed since then, the job
// continues. Otherwise a job ends twice only in a merged stream, where the ends of
// replaced runs come before the last run.
func (j *job) reopen() {
	if j.end == nil {
		return
	}
	if j.endedIn == j.in.run {
		j.earlier = append(j.earlier, earlier{j.endedAt, brief(settled(*j.end, j.spent()))})
	}
	j.end = nil
}

// brief returns the end of a job without its patch, its files and the model's texts.
func brief(end event.JobEnd) event.JobEnd {
	end.FinalMessage, end.Output, end.Patch, end.OutputFile, end.UntrackedInputs = "", nil, "", "", nil
	return end
}

// settled returns the end with a cost of 0 if no model was called.
func settled(end event.JobEnd, spent spend) event.JobEnd {
	if end.CostUSD == nil && end.Turns == 0 && spent.turns == 0 {
		end.CostUSD = new(money.USD)
	}
	return end
}

func (j *job) takeAttempt(e event.Event) {
	j.attempts, j.hunks = max(j.attempts, e.Attempt.Number), nil // those of other changes
	j.dropReviews(e.Attempt.Number)
	if e.Attempt.Number == 1 {
		j.environment.escalated = nil
	}
	j.environment.basis.attempt()
}

func (j *job) takeSession(e event.Event) { j.session(e.Session).info = *e.SessionInfo }

func (j *job) takeTurn(e event.Event) {
	t := j.session(e.Session).turn(e.Turn.Number)
	if e.Type == event.TurnStarted {
		t.stage = len(j.environment.escalated)
		j.session(e.Session).reverted, t.started = nil, e.Time
		return
	}
	j.calls.withdraw(e.Session, e.Turn.Number)
	t.end = *e.Turn
	t.end.Lost = clone(e.Turn.Lost)
	t.cost = clone(e.Turn.CostUSD)
	if e.Turn.Usage == nil {
		t.cost = nil
		return
	}
	t.usage = *e.Turn.Usage
}

func (j *job) takePrune(e event.Event) { j.session(e.Session).prunes++ }

func (j *job) takeCompaction(e event.Event) { j.session(e.Session).compactions++ }

func (j *job) takeCall(e event.Event) { j.calls.take(j.session(e.Session), e.Call) }

func (j *job) takeRevert(e event.Event) { j.session(e.Session).reverted = new(e.Revert.Turn) }

func (j *job) takeHunks(e event.Event) {
	h := *e.Hunks
	h.Flaky, h.List = append([]string{}, h.Flaky...), append([]event.Hunk{}, h.List...)
	h.Tests, h.Assertions = append([]event.ProvedTest{}, h.Tests...), append([]event.LostAssertion{}, h.Assertions...)
	j.hunks = &h
}

func (j *job) takeChanges(e event.Event) {
	j.changes = found{slices.Clone(e.Changes), slices.Clone(e.LeftOut)}
}

func (j *job) takeCommit(e event.Event) {
	j.commit = &event.Commit{Hash: e.Commit.Hash, Branch: e.Commit.Branch, Message: e.Commit.Message}
	j.environment.basis.commit(e.Commit.Hash)
}

func (j *job) takePublished(e event.Event) {
	p := e.Published
	j.pushed = &Published{Remote: p.Remote, Branch: p.Branch, Hash: p.Hash, Replaced: p.Replaced}
	j.pull = clone(p.PullRequest)
}

func (j *job) takeComment(e event.Event) {
	j.comment = &Comment{URL: e.Comment.URL, Created: e.Comment.Created, Lines: e.Comment.Lines}
}

// takeUntrusted records what the job has read first. A process that continues it reports it again.
func (j *job) takeUntrusted(e event.Event) {
	u := e.Untrusted
	j.marked = &MarkedBy{Session: e.Session, Turn: u.Turn, Call: u.Call, Tool: u.Tool, What: u.What}
}

// maxNetwork is the maximum number of denied hosts in a report.
const maxNetwork = 50

// takeNetwork adds a denied host with its port, once.
func (j *job) takeNetwork(e event.Event) {
	n := e.Network
	if !n.Denied || len(j.environment.network) >= maxNetwork {
		return
	}
	d := NetworkDenial{Host: n.Host, Port: n.Port, Reason: n.Error, Fix: n.Fix}
	if !slices.ContainsFunc(j.environment.network, func(o NetworkDenial) bool { return o.Host == d.Host && o.Port == d.Port }) {
		j.environment.network = append(j.environment.network, d)
	}
}

// session returns the session with an id, and adds it if it is new. Jobs have few
// sessions, so it searches them from the end.
func (j *job) session(id string) *session {
	for _, s := range slices.Backward(j.sessions) {
		if s.id == id {
			return s
		}
	}
	s := &session{id: id}
	j.sessions = append(j.sessions, s)
	return s
}

// turn returns the turn with a number, and adds it if it is new.
func (s *session) turn(number int) *turn {
	for _, t := range slices.Backward(s.turns) {
		if t.number == number {
			return t
		}
	}
	t := &turn{number: number}
	if number == 0 { // calls of the prompt: no model was called
		t.cost = new(money.USD)
	}
	s.turns = append(s.turns, t)
	return t
}

// report returns the job's report; last is the time of the run's last event.
func (j *job) report(cancelled bool, last time.Time) Job {
	end := j.ending(cancelled, last)
	out := Job{
		ID:           j.id,
		Matrix:       map[string]string{},
		Outcome:      end.Outcome,
		Reason:       end.Reason,
		ReasonCode:   end.Code,
		Attempts:     end.Attempts,
		Reruns:       len(j.earlier),
		Turns:        end.Turns,
		StartedAt:    stamp(j.begunAt),
		ElapsedMS:    end.ElapsedMS,
		Phases:       append([]Phase{}, j.environment.phases...),
		Usage:        end.Usage,
		FinalMessage: end.FinalMessage,
		Output:       end.Output,
		OutputFile:   end.OutputFile,
		Baseline:     append([]Baseline{}, j.baseline...),
		Verify:       append([]Verify{}, j.verify...),
		Changes:      append([]event.Change{}, j.changes.changes...),
		Patch:        end.Patch,
		Untracked:    append([]event.Untracked{}, end.UntrackedInputs...),
		LeftOut:      append([]event.LeftOutPath{}, j.changes.leftOut...),
		Hunks:        clone(j.hunks),
		Commit:       clone(j.commit),
		Published:    clone(j.pushed),
		PullRequest:  clone(j.pull),
		Comment:      clone(j.comment),
		Requests:     j.requests.list(),
		Calls:        []Call{},
		Denied:       []Denial{},
		Sessions:     []Session{},
		Fallbacks:    append([]Fallback{}, j.changed...),
		Script:       clone(j.environment.script),
		Network:      append([]NetworkDenial{}, j.environment.network...),
		Extensions:   []Extension{},
		MarkedBy:     clone(j.marked),
		Review:       j.review(end.Output),
		Escalation:   j.escalation(end),
	}
	for _, e := range j.environment.extensions {
		out.Extensions = append(out.Extensions, newExtension(e))
	}
	if j.planned != nil {
		out.Task, out.Repo = j.planned.Task, j.planned.Repo
		out.Model, out.Profile = j.planned.Model, j.planned.Profile
		out.Location = j.planned.Location
		maps.Copy(out.Matrix, j.planned.Matrix)
	}
	var cost money.Total
	cost.Add(end.CostUSD, j.spent().cost.Least())
	for _, e := range j.earlier {
		out.Turns += e.end.Turns
		out.Usage = out.Usage.Add(e.end.Usage)
		cost.Add(e.end.CostUSD, 0)
	}
	if out.CostUSD = cost.USD(); out.CostUSD == nil {
		out.atLeast = cost.Least()
	}
	if j.start != nil {
		out.Sandbox, out.Origin = j.start.Sandbox, originOf(j.start)
		out.Base, out.continued = clone(j.environment.basis.base), j.environment.basis.continued
	}
	j.reportSessions(&out)
	return out
}

func originOf(s *event.JobStart) Origin {
	if l := s.Landing; l != nil {
		return Origin{l.Remote, l.Forge, l.Below}
	}
	return Origin{Remote: s.Remote}
}

// ending returns the payload of job.ended, or an end derived from other events.
func (j *job) ending(cancelled bool, last time.Time) event.JobEnd {
	spent := j.spent()
	switch {
	case j.end != nil:
		return settled(*j.end, spent)
	case j.begun:
		return event.JobEnd{
			Outcome:   event.Cancelled,
			Reason:    "the run ended before the job completed",
			Attempts:  j.attempts,
			Turns:     spent.turns,
			ElapsedMS: max(0, last.Sub(j.begunAt).Milliseconds()),
			Usage:     spent.usage,
			CostUSD:   spent.cost.USD(),
		}
	case cancelled:
		return event.JobEnd{Outcome: event.Cancelled, Reason: "the run was cancelled before the job started", CostUSD: new(money.USD)}
	default:
		return event.CodeNotRun.End("the job did not start")
	}
}

// reportSessions adds the job's sessions with their calls.
func (j *job) reportSessions(out *Job) {
	for _, s := range j.sessions {
		out.Sessions = append(out.Sessions, s.report())
		for _, t := range s.turns {
			if s.info.Parent == "" {
				out.ModelServed = cmp.Or(t.end.ModelServed, out.ModelServed)
			}
			out.Retries += t.retries
			out.WaitMS += t.waitMS
			out.Lost = out.Lost.Plus(t.end.Lost)
		}
	}
	j.calls.number()
	for _, c := range j.calls.all {
		call := c.report()
		out.Calls = append(out.Calls, call)
		if call.Status == event.CallDenied {
			out.Denied = append(out.Denied, denial(call))
		}
	}
	out.calls = len(out.Calls)
	out.DeniedTurns, out.DeniedCost = j.calls.denials()
}

func (s *session) report() Session {
	spent := s.spent()
	out := Session{
		ID:          s.id,
		Agent:       s.info.Agent,
		Model:       s.info.Model,
		Turns:       spent.turns,
		Usage:       spent.usage,
		CostUSD:     spent.cost.USD(),
		Prunes:      s.prunes,
		Compactions: s.compactions, RevertedTo: s.reverted,
		End:       s.info.End,
		Reason:    s.info.Reason,
		TurnCosts: make([]TurnCost, 0, len(s.turns)),
	}
	for _, t := range s.turns {
		if t.number == 0 { // calls of the prompt: no model was called
			continue
		}
		out.TurnCosts = append(out.TurnCosts, t.report(s.info.Model))
	}
	if parent := s.info.Parent; parent != "" {
		out.Parent = &parent
	}
	return out
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// maxNesting is the maximum nesting of a model's JSON in a report: parsers in other
// languages fail at a few hundred levels.
const maxNesting = 100

// value copies a model's JSON. If it is nested too deeply, or not valid, the result is a
// JSON string that contains it. The form is that of a stored stream, so that live events
// result in the same report.
func value(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	stored, err := json.Marshal(raw)
	if err != nil {
		return quoted(raw)
	}
	if jsontext.Depth(stored) > maxNesting {
		return quoted(stored)
	}
	return stored
}

func quoted(raw []byte) json.RawMessage {
	text, err := json.Marshal(string(raw))
	if err != nil {
		return nil // unreachable: every string can be encoded
	}
	return text
}
