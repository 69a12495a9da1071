package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// seat is what makes one session of a job different from another.
type seat struct {
	tasks.Job             // with the session's own agent, model, profile and limits
	speaks    string      // id of the model that tools and words are made for
	agent     tasks.Agent // zero for the task's own
	id        string      // of the session
	file      string      // of its transcript, without its ending
	parent    string      // id of the session that started it; "" for the task's own
}

// child names the agent of a session that another one started, "" otherwise.
func (s seat) child() string {
	if s.parent == "" {
		return ""
	}
	return s.Agent
}

// schema is that of the session's last answer: children say what they like.
func (s seat) schema() map[string]any {
	if s.parent != "" {
		return nil
	}
	return s.Schema
}

// open is a session that is not closed yet.
type open struct {
	*session.Session
	seat       seat
	talk       Conversation
	transcript *os.File
	running    sync.Mutex // held while the session runs; of children, which may be resumed
	last       session.End
}

// close tells the session's end and lets go of its transcript.
func (o *open) close(end session.End) {
	o.Close(end)
	o.transcript.Close()
}

// sessions are those of one job, the task's own first.
type sessions struct {
	mu      sync.Mutex
	all     []*open
	started int // children, so far
}

func (s *sessions) add(o *open) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, o)
}

func (s *sessions) list() []*open {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*open(nil), s.all...)
}

// children returns the sessions that others have started.
func (s *sessions) children() []*open {
	all := s.list()
	return all[min(1, len(all)):]
}

// totals sums up over all sessions. It may be called while they run.
func (s *sessions) totals() session.Totals {
	sum := session.Totals{CostUSD: new(money.USD)}
	for _, o := range s.list() {
		t := o.Totals()
		sum.Turns, sum.Calls, sum.Denied = sum.Turns+t.Turns, sum.Calls+t.Calls, sum.Denied+t.Denied
		sum.Usage = sum.Usage.Add(t.Usage)
		sum.CostUSD = money.Sum(sum.CostUSD, t.CostUSD)
	}
	return sum
}

// errModel is a model that can't be opened.
type errModel struct{ error }

// sessionFailed is the end of a job whose session can't begin.
func sessionFailed(err error) *stop {
	if m := (errModel{}); errors.As(err, &m) {
		return &stop{outcome: event.Provider, reason: err.Error(), exit: event.ExitAuth}
	}
	return &stop{outcome: event.Error, reason: err.Error(), exit: event.ExitInternal}
}

// openSession makes a session of the job.
func (j *job) openSession(ctx context.Context, s seat) (*open, error) {
	o := &open{seat: s}
	var err error
	if o.talk, err = j.OpenModel(s.Job, s.child(), func(r event.Retry) { j.retried(o, r) }); err != nil {
		return nil, errModel{err}
	}
	s.speaks = cmp.Or(o.talk.As, s.Model)
	env, err := j.toolEnv(ctx, s)
	if err != nil {
		return nil, err
	}
	offer, err := tools.For(env, j.Custom...)
	if err != nil {
		return nil, err
	}
	if o.transcript, err = j.openTranscript(s.file); err != nil {
		return nil, err
	}
	broken, purse := false, j.ledger.purse(&j.money, s.Model, o.talk.Price)
	window, output := j.window(s)
	o.Session = session.New(session.Config{
		ID: s.id, Job: j.ID, Agent: s.Agent, Parent: s.parent,
		Model: o.talk.Model, ModelName: s.ModelName, System: j.system(s),
		Tools: offer, Env: env,
		Limits: session.Limits{Turns: s.Limits.Turns, Tokens: s.Limits.Tokens, Denials: s.Limits.Denials, Failures: s.Limits.Failures},
		Purse: session.Purse{
			Reserve: func(ctx context.Context, n session.Need) (session.Grant, *session.End) {
				if end := j.allow(n.Last); end != nil {
					return session.Grant{}, end
				}
				return purse.reserve(ctx, n)
			},
			Release: purse.release,
		},
		Sampling: session.Sampling{Effort: s.Sampling.Effort, Temperature: s.Sampling.Temperature, MaxOutput: s.Sampling.MaxOutput},
		Window:   window, MostOutput: output,
		WrapUp: !strings.HasPrefix(s.speaks, "script:"), Schema: s.schema(),
		Transcript: func(m model.Message) {
			if err := writeMessage(o.transcript, m, j.Redact); err != nil && !broken {
				broken = true
				j.warn(fmt.Sprintf("the transcript is incomplete: %v", err))
			}
		},
		Emit: j.Emit, Now: j.Now,
	})
	j.sessions.add(o)
	return o, nil
}

// allow holds all sessions of the job together to its limits, but for their
// last words. Money is the purse's concern.
func (j *job) allow(last bool) *session.End {
	t, l := j.sessions.totals(), j.Limits
	switch {
	case l.Turns > 0 && t.Turns >= l.Turns && !last:
		return &session.End{Kind: session.Limited, Reason: fmt.Sprintf("the limit of %d turns is reached", l.Turns)}
	case l.Tokens > 0 && t.Usage.Input+t.Usage.Output >= l.Tokens && !last:
		return &session.End{Kind: session.Limited, Reason: fmt.Sprintf("the limit of %d tokens is reached", l.Tokens)}
	case l.Denials > 0 && t.Denied >= l.Denials:
		return &session.End{Kind: session.Refused, Reason: fmt.Sprintf("the limit of %d denied calls is reached", l.Denials)}
	}
	if j.sandbox.overFor(maxOver) {
		return &session.End{Kind: session.Limited, Reason: fmt.Sprintf("%d commands in a row have left more on the disk than the job's limit (limits.disk)", maxOver)}
	}
	if err := j.broken(); err != nil {
		return &session.End{Kind: session.GaveUp, Reason: err.Error()}
	}
	return nil
}

// toolEnv equips the tools of a session.
func (j *job) toolEnv(ctx context.Context, s seat) (*tools.Env, error) {
	rules, err := j.tree.IgnoreRules()
	if err != nil {
		return nil, err
	}
	box, err := j.confinement(ctx, s)
	if err != nil {
		return nil, err
	}
	skills, problems := tools.FindSkills(j.space, j.plan.Skills)
	for _, p := range problems {
		if s.parent == "" {
			j.warn(p.Error())
		}
	}
	env := &tools.Env{
		Workspace: j.space, Profile: s.Profile, Ignore: rules, Todos: &tools.Todos{}, Redact: j.Redact, ChildEnv: box.Env, Confine: box.Confine(), Beside: box.Beside(),
		MaxTime: s.Limits.Time, Outputs: j.Dir.Sub(path.Join("outputs", j.ID)), Now: j.Now,
		Limits: tools.OutputLimits{Lines: j.plan.Output.Lines, Bytes: j.plan.Output.Bytes},
		Model:  s.speaks, Batch: j.plan.Batch, Skills: skills, SkillProblems: problems, Tree: j.tools, Cache: &tools.Cache{},
		Search: tools.SearchConfig{Backend: j.plan.Search.Backend, URL: j.plan.Search.URL, Key: j.secret(j.plan.Search.KeyEnv)},
	}
	known := j.facts(s.speaks)
	env.Images, env.PDFs = known.Images, known.PDFs
	if s.parent == "" { // children start none of their own
		env.Agents, env.Spawn = j.agents(), j.spawner(s.id)
	}
	return env, nil
}

// facts is what is known of a model.
func (j *job) facts(model string) Facts {
	if j.Facts == nil {
		return Facts{}
	}
	return j.Facts(model)
}

// window is how many tokens a request and its answer, and an answer alone, have
// at most, whichever model of a job's list answers; 0 if nobody knows.
func (j *job) window(of seat) (all, answer int) {
	least := func(a, b int) int {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	f := j.facts(of.speaks)
	for _, other := range of.Fallback {
		g := j.facts(other.ID)
		f.Context, f.MaxOutput = least(f.Context, g.Context), least(f.MaxOutput, g.MaxOutput)
	}
	return f.Context, f.MaxOutput
}

// secret is the value of a variable that a manifest names; "" for none.
func (j *job) secret(variable string) string {
	if variable == "" {
		return ""
	}
	return strings.TrimSpace(j.Getenv(variable))
}

func (j *job) openTranscript(name string) (*os.File, error) {
	path := filepath.Join(j.Dir.Path(), "sessions", name+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for transcripts: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the transcript: %w", err)
	}
	return f, nil
}

func (j *job) retried(o *open, r event.Retry) {
	if o.Session != nil {
		r.Turn = o.Totals().Turns
	}
	j.emit(event.Event{Type: event.RetryMade, Session: o.seat.id, Retry: &r})
}
