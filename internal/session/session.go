package session

import (
	"context"
	"fmt"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/tools"
)

// Limits end a session. Zero values mean: no limit. Time is a deadline of the
// context's and not here.
type Limits struct {
	Turns    int
	CostUSD  float64
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
	// Allow is asked before each model call whether the run as a whole may go
	// on; a non-nil End ends the session. It may be nil.
	Allow func() *End
	// Spent is told the cost of each model call; nil when it is unknown. It may
	// be nil itself.
	Spent func(usd *float64)
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
	GaveUp    EndKind = "failed"    // the model can't go on, or a scripted one met what it did not expect
	NoModel   EndKind = "provider"  // the provider can't be used
	Cancelled EndKind = "cancelled" // the context ended
)

// End is how a stretch of a session ended.
type End struct {
	Kind   EndKind
	Reason string           // in words; empty when done
	Text   string           // the model's last words
	Class  model.ErrorClass // of the request that failed, for NoModel
}

// Totals are sums over a session.
type Totals struct {
	Turns   int
	Calls   int
	Denied  int
	Usage   event.Usage
	CostUSD *float64 // nil once the cost of any turn is unknown
}

// Session is one conversation. It is not safe for concurrent use.
type Session struct {
	cfg      Config
	messages []model.Message
	specs    []model.ToolSpec
	totals   Totals
	failures int // failed calls since the last that completed
	started  bool
}

// New makes a session; nothing happens before Run.
func New(cfg Config) *Session {
	zero := 0.0
	s := &Session{cfg: cfg, totals: Totals{CostUSD: &zero}}
	for _, spec := range cfg.Tools.Offer(cfg.Env.Profile) {
		s.specs = append(s.specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	return s
}

// Totals returns the sums so far.
func (s *Session) Totals() Totals { return s.totals }

// Run gives the model a prompt and works until the model is done or the
// session has to end. It may be called again: the conversation goes on, under
// the same limits.
func (s *Session) Run(ctx context.Context, prompt string) End {
	if !s.started {
		s.started = true
		s.emit(event.Event{Type: event.SessionStarted, SessionInfo: s.info(End{})})
	}
	s.add(model.Message{Role: model.User, Text: prompt})
	for {
		if end := s.mayGoOn(ctx); end != nil {
			return *end
		}
		if end := s.turn(ctx); end != nil {
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

// mayGoOn checks every limit before a model call is paid for.
func (s *Session) mayGoOn(ctx context.Context) *End {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	l, t := s.cfg.Limits, s.totals
	switch {
	case l.Turns > 0 && t.Turns >= l.Turns:
		return &End{Kind: Limited, Reason: fmt.Sprintf("the limit of %d turns is reached", l.Turns)}
	case l.Tokens > 0 && t.Usage.Input+t.Usage.Output >= l.Tokens:
		return &End{Kind: Limited, Reason: fmt.Sprintf("the limit of %d tokens is reached", l.Tokens)}
	case l.CostUSD > 0 && t.CostUSD != nil && *t.CostUSD >= l.CostUSD:
		return &End{Kind: OverCost, Reason: fmt.Sprintf("the job's limit of $%g is reached", l.CostUSD)}
	case l.Denials > 0 && t.Denied >= l.Denials:
		return &End{Kind: Refused, Reason: fmt.Sprintf("the limit of %d denied calls is reached", l.Denials)}
	case l.Failures > 0 && s.failures >= l.Failures:
		return &End{Kind: Limited, Reason: fmt.Sprintf("the limit of %d failed calls in a row is reached", l.Failures)}
	}
	if s.cfg.Allow != nil {
		return s.cfg.Allow()
	}
	return nil
}

// Timeout is the cause of a context that a limit on time ended. Whoever sets a
// deadline on a session's context gives it as the cause.
type Timeout struct{ Reason string }

// Error returns the reason.
func (t Timeout) Error() string { return t.Reason }

// ended is the End of a context that is over.
func ended(ctx context.Context) *End {
	cause := context.Cause(ctx)
	if t, ok := cause.(Timeout); ok { //nolint:errorlint // a cause is given as it is, never wrapped
		return &End{Kind: Limited, Reason: t.Reason}
	}
	return &End{Kind: Cancelled, Reason: cause.Error()}
}

// turn makes one model call and carries out the calls it asks for. It returns
// nil if the conversation goes on.
func (s *Session) turn(ctx context.Context) *End {
	s.totals.Turns++
	n := s.totals.Turns
	s.emit(event.Event{Type: event.TurnStarted, Turn: &event.Turn{Number: n}})
	began := s.cfg.Now()
	resp, err := s.cfg.Model.Stream(ctx, model.Request{System: s.cfg.System, Messages: s.messages, Tools: s.specs}, s.delta)
	ended := &event.Turn{Number: n, ElapsedMS: s.cfg.Now().Sub(began).Milliseconds()}
	if err != nil {
		ended.Error = err.Error()
		s.emit(event.Event{Type: event.TurnEnded, Turn: ended})
		return requestFailed(ctx, err)
	}
	s.account(resp, ended)
	s.add(model.Message{Role: model.Assistant, Text: resp.Text, Reasoning: resp.Reasoning, Calls: resp.Calls})
	if resp.Text != "" || resp.Reasoning != "" {
		s.emit(event.Event{Type: event.TextSaid, Text: &event.Text{Turn: n, Text: resp.Text, Reasoning: resp.Reasoning}})
	}
	for _, m := range s.carryOut(ctx, n, resp.Calls) {
		s.add(m)
	}
	s.emit(event.Event{Type: event.TurnEnded, Turn: ended})
	if len(resp.Calls) > 0 {
		return nil
	}
	return answered(resp)
}

// account adds a response to the totals and to its turn's event.
func (s *Session) account(resp model.Response, ended *event.Turn) {
	ended.Finish, ended.CostUSD = string(resp.Finish), resp.CostUSD
	if resp.Usage != nil {
		u := event.Usage(*resp.Usage)
		ended.Usage = &u
		s.totals.Usage = s.totals.Usage.Add(u)
	}
	switch {
	case resp.CostUSD == nil:
		s.totals.CostUSD = nil
	case s.totals.CostUSD != nil:
		sum := event.AddUSD(*s.totals.CostUSD, *resp.CostUSD)
		s.totals.CostUSD = &sum
	}
	if s.cfg.Spent != nil {
		s.cfg.Spent(resp.CostUSD)
	}
}

// answered judges an answer without calls: the model's last word, unless it
// was cut off.
func answered(resp model.Response) *End {
	switch resp.Finish {
	case model.FinishLength:
		return &End{Kind: GaveUp, Reason: "the model's answer was cut off at its output limit", Text: resp.Text}
	case model.FinishFilter:
		return &End{Kind: GaveUp, Reason: "the provider's content filter stopped the model", Text: resp.Text}
	default:
		return &End{Kind: Done, Text: resp.Text}
	}
}

// requestFailed turns a failed model call into an End.
func requestFailed(ctx context.Context, err error) *End {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	switch class := model.ClassOf(err); class {
	case model.ClassScript:
		return &End{Kind: GaveUp, Reason: err.Error(), Class: class}
	case model.ClassContext:
		return &End{Kind: Limited, Reason: "the conversation is longer than the model can take: " + err.Error(), Class: class}
	default:
		return &End{Kind: NoModel, Reason: err.Error(), Class: class}
	}
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
