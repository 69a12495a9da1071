package session

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tools"
)

// Limits end a session. Zero values mean: no limit. Time is a deadline of the
// context's and money has its budget, so neither is here. The turn in which a
// model sums up at a limit comes on top of turns and tokens.
type Limits struct {
	Turns    int
	Tokens   int64 // input and output
	Denials  int   // denied calls
	Failures int   // failed calls in a row
}

// Config is what a session needs.
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
	Sampling  Sampling
	// Window is how many tokens a request and its answer have together at most,
	// MostOutput how many the answer has; 0 if unknown.
	Window, MostOutput int
	// WrapUp says that the model is asked for last words when a limit on turns,
	// tokens or money ends the session.
	WrapUp bool
	// Schema is the JSON Schema that the model's last answer has to meet; nil for
	// any answer.
	Schema map[string]any
	// Transcript is given each message as it joins the conversation. It may be
	// nil.
	Transcript func(model.Message)
	Emit       func(event.Event)
	Now        func() time.Time
}

// EndKind is how a stretch of a session ended.
type EndKind string

// The ends of a session.
const (
	Done      EndKind = "done"      // the model said that it is done
	Limited   EndKind = "limit"     // a limit on turns, tokens or time
	OverCost  EndKind = "budget"    // a limit on money
	Refused   EndKind = "policy"    // too many denied calls
	GaveUp    EndKind = "failed"    // the model can't go on, its answer is none, or a scripted one met what it did not expect
	NoModel   EndKind = "provider"  // the provider can't be used
	Cancelled EndKind = "cancelled" // the context ended
)

// End is how a stretch of a session ended.
type End struct {
	Kind   EndKind
	Reason string          // in words; empty when done
	Code   event.Code      // the reason in one word, where there is one
	Text   string          // the model's last words
	Output json.RawMessage // the answer that meets the schema, if there is one and the model is done
	Shared bool            // for OverCost: the money was that of all jobs

	summable bool // the model may still sum up
}

// Totals are sums over a session.
type Totals struct {
	Turns   int
	Calls   int
	Denied  int
	Usage   money.Usage
	CostUSD *money.USD // nil once the cost of any turn is unknown
}

// Session is one conversation. Only [Session.Totals] may be called while Run
// has not returned.
type Session struct {
	cfg      Config
	messages []model.Message
	specs    []model.ToolSpec
	fixed    int64 // tokens of what each request begins with: system prompt and tools
	failures int   // failed calls since the last that completed
	started  bool
	answer   answers            // of this stretch
	repeats  repeats            // in this stretch
	fetched  []model.Attachment // for the next words
	cut      string             // id of the call that the turn's output limit cut off
	tooLong  bool               // the provider found the last request too long

	counted   int64 // tokens of the first countedTo messages, with what is fixed
	countedTo int

	mu     sync.Mutex
	totals Totals
}

// New makes a session; nothing happens before Run.
func New(cfg Config) *Session {
	s := &Session{cfg: cfg, totals: Totals{CostUSD: new(money.USD)}}
	if s.cfg.Budget == nil {
		s.cfg.Budget = money.NewBudget("", 0, nil)
	}
	env := *cfg.Env
	env.Nested = s.nested
	s.cfg.Env = &env
	for _, spec := range cfg.Tools.Offer(cfg.Env.Profile) {
		s.specs = append(s.specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	s.fixed = tokens(len(cfg.System)) + tokensOfTools(s.specs)
	s.recount()
	return s
}

// Totals returns the sums so far. It may be called at any time.
func (s *Session) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// Run gives the model a prompt and works until the model is done or the
// session has to end. It may be called again: the conversation goes on, under
// the same limits.
func (s *Session) Run(ctx context.Context, prompt string) End {
	s.start()
	s.answer, s.repeats = answers{}, repeats{}
	s.say(prompt)
	defer s.cfg.Budget.Release()
	for {
		end := s.mayGoOn(ctx)
		if end == nil {
			end = s.turn(ctx)
		}
		switch {
		case end == nil:
		case end.summable && s.cfg.WrapUp:
			return s.lastWords(ctx, *end)
		default:
			return *end
		}
	}
}

// Close tells that the session is over.
func (s *Session) Close(end End) {
	if s.started {
		s.emit(event.Event{Type: event.SessionEnded, SessionInfo: s.info(end)})
	}
}

func (s *Session) info(end End) *event.Session {
	return &event.Session{
		Agent: s.cfg.Agent, Parent: s.cfg.Parent, Model: s.cfg.ModelName,
		End: string(end.Kind), Reason: end.Reason, FinalText: end.Text,
	}
}

// start tells that the session began, once.
func (s *Session) start() {
	if !s.started {
		s.started = true
		s.emit(event.Event{Type: event.SessionStarted, SessionInfo: s.info(End{})})
	}
}

// say adds words to the conversation that the model is to answer, and what was
// fetched to be seen with them.
func (s *Session) say(text string) {
	s.add(model.Message{Role: model.User, Text: text, Attachments: s.fetched})
	s.fetched = nil
}

func (s *Session) add(m model.Message) {
	s.messages = append(s.messages, m)
	if s.cfg.Transcript != nil {
		s.cfg.Transcript(m)
	}
}

func (s *Session) delta(d model.Delta) {
	s.emit(event.Event{Type: event.DeltaCame, Delta: &event.Delta{Kind: string(d.Kind), Call: d.Call, Text: d.Text}})
}

func (s *Session) emit(e event.Event) {
	e.Job, e.Session = s.cfg.Job, s.cfg.ID
	s.cfg.Emit(e)
}
