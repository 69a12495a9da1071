package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// state is what a run is doing, according to its events.
type state struct {
	started, now time.Time
	jobs         int // of the plan
	done, failed int
	label        int        // width of the column with the job, 0 for a single job
	limit        *money.USD // budget of the run
	spent        cost
	running      []*job // in the order of their first event
	ended        map[string]bool
}

// cost is a sum of costs, which may be unknown.
type cost struct {
	usd   money.USD
	known bool // whether any cost is known
	least bool // whether any cost is unknown, so that the sum is a lower bound
}

func (c *cost) add(usd *money.USD) {
	if usd == nil {
		c.least = true
	} else {
		c.usd, c.known = c.usd.Add(*usd), true
	}
}

func (c *cost) String() string {
	switch {
	case c.least && c.usd == 0:
		return money.Rounded(nil)
	case !c.known:
		return ""
	case c.least:
		return "≥ " + money.Rounded(&c.usd)
	}
	return money.Rounded(&c.usd)
}

// of returns the total of a job as text: that of its end, or the lower bound that is known.
func (c *cost) of(total *money.USD) string {
	if total == nil && c.least {
		return c.String()
	}
	return money.Rounded(total)
}

// job is a running job.
type job struct {
	id      string
	start   event.JobStart
	phase   string
	turns   map[string]int    // current turn by session
	main    string            // the job's own session, for events without a session
	agents  map[string]string // by session of a subagent
	cost    cost
	changes []event.Change
	doing   []operation // in the order of their start
}

// operation is a running command, tool call or model request.
type operation struct {
	key, text string
	since     time.Time
}

// maxLabel is the maximum width of the column with the job.
const maxLabel = 24

func (s *state) apply(e event.Event) {
	if s.started.IsZero() {
		s.started = e.Time
	}
	s.now = e.Time
	if e.Type == event.RunStarted && e.Run != nil {
		s.jobs, s.limit = len(e.Run.Jobs), e.Run.MaxCostUSD
		if r := e.Run.Resumed; r != nil {
			s.done = r.Finished
			s.spent.add(&r.CostUSD)
		}
		for _, j := range e.Run.Jobs {
			if s.jobs > 1 {
				s.label = max(s.label, min(columns(j.ID), maxLabel))
			}
		}
	}
	if e.Job == "" {
		return
	}
	j := s.find(e.Job)
	if e.Type == event.JobEnded {
		s.done++
		if e.JobEnd.Outcome != event.Passed && e.JobEnd.Outcome != event.Skipped {
			s.failed++
		}
		return // it is removed once its end is described
	}
	if e.Type == event.TurnEnded {
		s.spent.add(e.Turn.CostUSD)
	}
	j.apply(e)
}

// find returns a running job, and adds it if it is new. A job that has ended does not run
// again: what it still reports is of a job without a state.
func (s *state) find(id string) *job {
	for _, j := range s.running {
		if j.id == id {
			return j
		}
	}
	j := &job{id: id, turns: map[string]int{}, agents: map[string]string{}}
	if !s.ended[id] {
		s.running = append(s.running, j)
	}
	return j
}

// remove forgets a job that has ended.
func (s *state) remove(id string) {
	s.running = slices.DeleteFunc(s.running, func(j *job) bool { return j.id == id })
	if s.ended == nil {
		s.ended = map[string]bool{}
	}
	s.ended[id] = true
}

// Keys of operations that a job has one of.
const commandKey, phaseKey = "command", "phase"

// requestKey is the key of the request of a session.
func requestKey(session string) string { return "request " + session }

func (j *job) apply(e event.Event) {
	if apply, ok := states.Find(&e); ok {
		apply(j, e)
	}
}

// states is what events change of what is shown of a running job.
var states = event.Walk[func(*job, event.Event)]{
	On: map[event.Type]func(*job, event.Event){
		event.JobStarted:      func(j *job, e event.Event) { j.start = *e.JobStart },
		event.PhaseStarted:    (*job).startPhase,
		event.PhaseEnded:      (*job).endPhase,
		event.CommandStarted:  func(j *job, e event.Event) { j.begin(e, commandKey, commandText(e.Command)) },
		event.CommandEnded:    (*job).endCommand,
		event.BaselineEnded:   (*job).endCommand,
		event.ScriptEnded:     (*job).endCommand,
		event.VerifyEnded:     (*job).endCommand,
		event.AblationStarted: func(j *job, e event.Event) { j.begin(e, commandKey, "verify without hunks") },
		event.AblationEnded:   (*job).endCommand,
		event.SessionStarted:  (*job).startSession,
		event.UntrustedRead: func(j *job, e event.Event) {
			if e.Untrusted.Publish == "patch" {
				j.start.Branch = "" // nothing is committed
			}
		},
		event.TurnStarted: func(j *job, e event.Event) {
			j.turns[e.Session] = e.Turn.Number
			j.begin(e, requestKey(e.Session), "model request")
		},
		event.RequestRetried: func(j *job, e event.Event) {
			j.end(requestKey(e.Session))
			j.begin(e, requestKey(e.Session), "model request, retried")
		},
		event.ModelText: func(j *job, e event.Event) { j.end(requestKey(e.Session)) },
		event.TurnEnded: func(j *job, e event.Event) {
			j.end(requestKey(e.Session))
			j.cost.add(e.Turn.CostUSD)
		},
		event.CallUpdated:  (*job).updateCall,
		event.ChangesFound: func(j *job, e event.Event) { j.changes = slices.Clone(e.Changes) },
	},
	Ignores: []event.Type{
		event.RunStarted, event.JobEnded, event.RunEnded, // see state
		event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.Pruned, event.Compacted, event.SessionEnded, event.FilesLeft, event.CommitStarted, event.Committed,
		event.PublishStarted, event.CommitPublished, event.PullRequestStarted, event.CommentStarted, event.CommentPosted, event.NetworkRequested,
		event.ExtensionChanged, event.RevertStarted, event.Reverted, event.WarningIssued, event.Sealed, event.TrialEnded,
		event.ForgeRequestStarted, event.ForgeRequestEnded,
	},
}

func (j *job) startPhase(e event.Event) {
	if e.Phase.Name == event.CheckoutPhase { // in the session
		j.begin(e, event.CheckoutPhase, "waiting for the checkout")
		return
	}
	j.phase = e.Phase.Name
	j.doing = nil
	j.begin(e, phaseKey, e.Phase.Name)
}

func (j *job) endPhase(e event.Event) {
	if e.Phase.Name == event.CheckoutPhase {
		j.end(event.CheckoutPhase)
		return
	}
	j.doing = nil
}

func (j *job) endCommand(event.Event) { j.end(commandKey) }

func (j *job) startSession(e event.Event) {
	if e.SessionInfo.Parent == "" {
		j.main = e.Session
	} else {
		j.agents[e.Session] = e.SessionInfo.Agent
	}
}

func (j *job) updateCall(e event.Event) {
	j.end(requestKey(e.Session))
	key := fmt.Sprintf("call %s %d %s", e.Session, e.Call.Turn, e.Call.ID)
	j.end(key)
	if e.Call.Status == event.CallRunning {
		j.begin(e, key, callText(e.Call))
	}
}

func (j *job) begin(e event.Event, key, text string) {
	j.doing = append(j.doing, operation{key, printable.Line(text, printable.Width), e.Time})
}

func (j *job) end(key string) {
	j.doing = slices.DeleteFunc(j.doing, func(o operation) bool { return o.key == key })
}

// current returns the operation that started last; between two, the phase.
func (j *job) current() operation {
	if len(j.doing) == 0 {
		return operation{text: j.phase}
	}
	return j.doing[len(j.doing)-1]
}

// turn returns the turn of an event's session, 0 before the first.
func (j *job) turn(session string) int { return j.turns[cmp.Or(session, j.main)] }

// elapsed formats the time since the start of an operation.
func (s *state) elapsed(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	at := max(0, s.now.Sub(since))
	if at < time.Minute {
		return fmt.Sprintf("%ds", int(at.Seconds()))
	}
	return figures.Duration(at.Milliseconds())
}

// maxNamed is the number of jobs in a line.
const maxNamed = 5

// summary names what the newest jobs are doing.
func (s *state) summary() string {
	var chunks []string
	for _, j := range s.newest(maxNamed) {
		o, name := j.current(), ""
		if s.jobs > 1 {
			name = j.id + ": "
		}
		chunk := name + o.text
		if !o.since.IsZero() {
			chunk += fmt.Sprintf(" (%s)", s.elapsed(o.since))
		}
		chunks = append(chunks, chunk)
	}
	if more := len(s.running) - len(chunks); more > 0 {
		chunks = append(chunks, fmt.Sprintf("%d more", more))
	}
	return strings.Join(chunks, "; ")
}

// newest returns the n jobs that started last.
func (s *state) newest(n int) []*job { return s.running[max(0, len(s.running)-n):] }
