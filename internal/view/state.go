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

func (j *job) apply(e event.Event) {
	const command = "command"
	request := "request " + e.Session
	switch e.Type {
	case event.PhaseStarted:
		if e.Phase.Name == event.CheckoutPhase { // in the session
			j.begin(e, event.CheckoutPhase, "waiting for the checkout")
			return
		}
		j.phase = e.Phase.Name
		j.doing = nil
		j.begin(e, "phase", e.Phase.Name)
	case event.PhaseEnded:
		if e.Phase.Name == event.CheckoutPhase {
			j.end(event.CheckoutPhase)
			return
		}
		j.doing = nil
	case event.JobStarted:
		j.start = *e.JobStart
	case event.CommandStarted:
		j.begin(e, command, commandText(e.Command))
	case event.CommandEnded, event.BaselineEnded, event.ScriptEnded, event.VerifyEnded:
		j.end(command)
	case event.SessionStarted:
		if e.SessionInfo.Parent == "" {
			j.main = e.Session
		} else {
			j.agents[e.Session] = e.SessionInfo.Agent
		}
	case event.TurnStarted:
		j.turns[e.Session] = e.Turn.Number
		j.begin(e, request, "model request")
	case event.RequestRetried:
		j.end(request)
		j.begin(e, request, "model request, retried")
	case event.ModelText:
		j.end(request)
	case event.TurnEnded:
		j.end(request)
		j.cost.add(e.Turn.CostUSD)
	case event.CallUpdated:
		j.end(request)
		key := fmt.Sprintf("call %s %d %s", e.Session, e.Call.Turn, e.Call.ID)
		j.end(key)
		if e.Call.Status == event.CallRunning {
			j.begin(e, key, callText(e.Call))
		}
	case event.ChangesFound:
		j.changes = slices.Clone(e.Changes)
	default: // changes nothing that is shown
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
