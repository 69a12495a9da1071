package session

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools"
)

// Limits end a session. Zero values mean: no limit. Time is a deadline of the
// context's and money has its budget, so neither is here. The turn in which a
// model writes its final summary is not counted in turns and tokens.
type Limits struct {
	Turns    int
	Tokens   int64 // input and output
	Denials  int   // denied calls
	Failures int   // failed calls in a row
}

// Config configures a session.
type Config struct {
	ID        string
	Job       string // id of the job that it belongs to
	Agent     string
	Parent    string // id of the session that started this one, if any
	Model     model.Model
	ModelName string
	System    string
	Tools     *tools.Registry
	Env       *tools.Env
	Limits    Limits
	// JobLimits returns why the job may make no more requests, nil if it may. It
	// is called before each request; summary marks the final summary, which limits
	// on turns and tokens don't apply to. It may be nil.
	JobLimits func(summary bool) *End
	Budget    *money.Budget // of this session; nil for none
	Sampling  model.Sampling
	// Window is the maximum number of tokens of a request and its response together,
	// MaxOutput that of the response; 0 if unknown.
	Window, MaxOutput int
	// FinalSummary makes the session request a final summary when a limit on turns, tokens
	// or money ends it.
	FinalSummary bool
	// Schema is the JSON Schema that the final response must match; nil for none.
	Schema  map[string]any
	Hooks   Hooks
	Journal *journal.Writer // of the conversation; nil for none
	// FirstTurn is the number of turns before the first one: those of the same job before
	// it was started again.
	FirstTurn int
	// Checkpoint saves the workspace after a turn whose calls could have changed it, and
	// returns its tree, "" for none, and whether the turn is complete without it. The session sends no request and runs no call
	// meanwhile. It may be nil.
	Checkpoint func(context.Context) (tree string, complete bool)
	Emit       func(event.Event)
	Now        func() time.Time
}

// End is how a call of [Session.Run] ended, and why.
type End struct {
	Code   event.Code      // of the cause; empty if the model completed the task
	Reason string          // empty when done
	Text   string          // the model's final message
	Output json.RawMessage // the response that matches the schema, if there is a schema and the model is done

	OfModel bool // the model failed, where another one could do better

	unusable bool // the endpoint failed, whatever the request
}

// Done reports whether the model completed the task.
func (e End) Done() bool { return e.Code == "" }

// outcome returns the end for events.
func (e End) outcome() string {
	if e.Done() {
		return "done"
	}
	return string(e.Code.Cause().Outcome)
}

// Session is one conversation. While Run is in progress, only [Session.Totals] may
// be called.
type Session struct {
	cfg      Config
	events   events
	talk     conversation
	head     head
	failures int // failed calls since the last completed one
	started  bool
	final    completion         // of this call of Run
	repeats  repeats            // in this call of Run
	fetched  []model.Attachment // for the next user message
	cut      string             // id of the call that was truncated at the turn's output limit
	tooLong  bool               // the provider rejected the last request as too long
	received received           // of the current response

	resumed *resumed // response of an earlier process that is not complete
	turns   checkpoints

	mu     sync.Mutex
	totals event.Totals
}

// head is what each request starts with.
type head struct {
	system string
	specs  []model.ToolSpec
	hooked bool // the hooks for specs were called
	sent   sent // messages that hooks changed
	door   door
}

// New returns a session. It sends nothing before Run.
func New(cfg Config) *Session {
	s := &Session{cfg: cfg, events: events{job: cfg.Job, session: cfg.ID, now: cfg.Now, to: cfg.Emit}, talk: conversation{journal: cfg.Journal}, head: head{system: cfg.System}}
	if s.cfg.Budget == nil {
		s.cfg.Budget = money.NewBudget("", 0, s.cfg.Now, nil)
	}
	env := *cfg.Env
	env.Nested, env.Untrusted.Session = s.nested, cfg.ID
	s.cfg.Env, s.head.door.known = &env, env.Redact
	s.head.specs = offered(s.cfg)
	s.talk.startWith(s.head)
	return s
}

// offered returns the tools of a request.
func offered(c Config) (specs []model.ToolSpec) {
	for _, spec := range c.Tools.Offer(c.Env.Profile) {
		specs = append(specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	return specs
}

// Totals returns the sums so far. It is safe for concurrent use.
func (s *Session) Totals() event.Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// Turn returns the number of the last turn. It is safe for concurrent use.
func (s *Session) Turn() int { return s.cfg.FirstTurn + s.Totals().Turns }

// Run sends the model a prompt, and requests and runs tool calls until the model is
// done or a limit is exceeded. A further call continues the conversation under the
// same limits.
func (s *Session) Run(ctx context.Context, prompt string) End {
	s.start()
	for _, m := range s.resumed.interrupted() {
		s.talk.add(m)
	}
	s.resumed = nil
	s.say(prompt)
	return s.Continue(ctx)
}

// Continue is [Session.Run] without another prompt, for a session that was resumed.
func (s *Session) Continue(ctx context.Context) End {
	s.start()
	s.final, s.repeats = completion{}, repeats{}
	defer s.cfg.Budget.Release()
	for {
		end := s.exceeded(ctx)
		if end == nil {
			end = s.turn(ctx)
		}
		switch {
		case end == nil:
		case s.cfg.FinalSummary && ctx.Err() == nil && summable(end.Code) && s.talk.worked():
			return s.summarize(ctx, *end)
		default:
			return *end
		}
	}
}

// SetProfile replaces the profile of later calls. It must not be called while the
// session runs.
func (s *Session) SetProfile(p permission.Profile) { s.cfg.Env.Profile = p }

// Close emits the end of the session.
func (s *Session) Close(end End) {
	if s.started {
		info := s.info()
		info.End, info.Reason, info.FinalText = end.outcome(), end.Reason, end.Text
		s.events.emit(event.Event{Type: event.SessionEnded, SessionInfo: info})
	}
}

func (s *Session) info() *event.Session {
	return &event.Session{Agent: s.cfg.Agent, Parent: s.cfg.Parent, Model: s.cfg.ModelName}
}

// start emits the start of the session, once.
func (s *Session) start() {
	if !s.started {
		s.started = true
		if len(s.talk.messages) == 0 { // otherwise an earlier process has started it
			s.cfg.Journal.Session(describe(s.cfg, s.head.specs))
		}
		s.events.emit(event.Event{Type: event.SessionStarted, SessionInfo: s.info()})
	}
}

// say adds a user message to the conversation, with the attachments that were
// fetched for it.
func (s *Session) say(text string) {
	s.talk.add(journal.Message{Message: model.Message{Role: model.User, Text: text, Attachments: s.fetched}})
	s.fetched = nil
}

// maxReceived limits what is stored of a response while it is received, in bytes.
const maxReceived = 256 << 10

// received is what was received of a response, for the case that it is interrupted.
type received struct{ text, reasoning strings.Builder }

func (s *Session) delta(d model.Delta) {
	switch to := &s.received; {
	case d.Kind == model.AgainDelta:
		*to = received{}
	case d.Kind == model.TextDelta && to.text.Len() < maxReceived:
		to.text.WriteString(d.Text)
	case d.Kind == model.ReasoningDelta && to.reasoning.Len() < maxReceived:
		to.reasoning.WriteString(d.Text)
	case d.Kind == model.CallDelta:
		s.events.call(event.Call{ID: d.Call, Turn: s.Turn(), Tool: d.Text, Status: event.CallPending, StartedAt: s.cfg.Now()})
	}
}
