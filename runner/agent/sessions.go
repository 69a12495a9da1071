package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/instructions"
	"github.com/millhand/millhand/runner/mention"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// sessionSpec specifies one session of a job.
type sessionSpec struct {
	task     tasks.Job   // with the session's own agent, model, profile and limits
	speaks   string      // id of the model that determines tools and prompts
	agent    tasks.Agent // zero for the task's own
	name     string      // of its transcript, without extension; the task_id of a child session
	narrowed string      // names the agents that reduce the job's profile; "" for none
	parent   string      // id of the session that started it; "" for the task's own
}

// instructions are those for the sessions of the job in a site.
func (j *Job) instructions(s *site.Site) instructions.Of { return instructions.Of{Job: j.Job, Site: s} }

// instructed returns what instructions depend on of a session with an environment of its tools.
func (s sessionSpec) instructed(j *Job, env *tools.Env) instructions.Session {
	return instructions.Session{
		Task: s.task, Prompt: s.agent.Prompt, Model: cmp.Or(j.run.equipment.facts(s.speaks).Like, s.speaks), Child: s.parent != "",
		Proxied: j.opts.Sandbox.Net, Scratch: env.Commands.Scratch,
	}
}

// child returns the agent of a child session, "" for the job's own session.
func (s sessionSpec) child() string {
	if s.parent == "" {
		return ""
	}
	return s.task.Agent
}

// schema returns the schema of the final response; nil for child sessions.
func (s sessionSpec) schema() map[string]any {
	if s.parent != "" {
		return nil
	}
	return FinalSchema(s.task)
}

// open is an open session.
type open struct {
	*session.Session
	spec       sessionSpec
	talk       opened.Conversation
	transcript *os.File
	running    sync.Mutex  // held while the session runs; children may be resumed
	last       session.End // of its last run
	// prompt changes a prompt of the session; nil for none.
	prompt func(ctx context.Context, text string) string
}

// taskPrompt returns the prompt of a job with what it mentions.
func (o *open) taskPrompt(ctx context.Context, j *Job, s *site.Site) (string, *ending.Stop) {
	p := mention.Prompt{
		Text: j.Spec.Prompt, Mentions: j.Spec.Mentions, Session: o.Session, Profile: o.spec.task.Profile, Agents: agents(j.Plan),
		Space: s.Space, Home: j.opts.Getenv("HOME"),
		Foreign: j.Start.OnPull.Trusted != "",
	}
	text, end := p.Expand(ctx)
	for _, warning := range p.Warnings {
		j.Warn(warning)
	}
	return text, end
}

// prompted returns a prompt as plugins change it.
func (o *open) prompted(ctx context.Context, text string) string {
	if o.prompt == nil {
		return text
	}
	return o.prompt(ctx, text)
}

// run continues the session with a prompt.
func (o *open) run(ctx context.Context, prompt string) session.End {
	o.last = o.Run(ctx, prompt)
	return o.last
}

// resume continues the session without another prompt.
func (o *open) resume(ctx context.Context) session.End {
	o.last = o.Continue(ctx)
	return o.last
}

// checkScript checks that the session used all turns of a scripted model.
func (o *open) checkScript() *ending.Stop {
	if o.talk.Finish == nil {
		return nil
	}
	if err := o.talk.Finish(); err != nil {
		return &ending.Stop{Code: event.CodeFailed, Detail: err.Error()}
	}
	return nil
}

// close emits the session's end and closes its transcript.
func (o *open) close() {
	o.Close(o.last)
	o.transcript.Close()
}

// sessions are the sessions of one job, the job's own first.
type sessions struct {
	mu      sync.Mutex
	all     []*open
	started int          // number of children
	running atomic.Int32 // children

	earlier map[string]event.Totals // of children of earlier processes that are not open, by id
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

// retire replaces the job's own session by the one that was opened last, and keeps its totals.
func (s *sessions) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, last := s.all[0], len(s.all)-1
	s.earlier[fmt.Sprintf("%s, until turn %d", old.spec.name, old.Turn())] = old.Totals()
	s.all = append([]*open{s.all[last]}, s.all[1:last]...)
}

// children returns the child sessions.
func (s *sessions) children() []*open {
	all := s.list()
	return all[min(1, len(all)):]
}

// totals returns the totals of all sessions. It may be called while they run.
func (s *sessions) totals() event.Totals {
	var sum event.Totals
	for _, o := range s.list() {
		sum = sum.Plus(o.Totals())
	}
	for _, t := range s.beforeKill() {
		sum = sum.Plus(t)
	}
	return sum
}

// beforeKill returns the totals of children that are not open.
func (s *sessions) beforeKill() []event.Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.earlier))
}

// errModel is wrapped by the error of a model that can't be opened.
type errModel struct{ error }

// sessionFailed returns the stop of a job whose session can't start.
func sessionFailed(err error) *ending.Stop {
	if m := (errModel{}); errors.As(err, &m) {
		return &ending.Stop{Code: event.CodeNoModel, Detail: err.Error()}
	}
	return ending.Fault(event.CodeInternal, err)
}

// openSession opens a session of the job; from is where an earlier process ended, nil for a
// new session.
func (w *work) openSession(ctx context.Context, s sessionSpec, from *continuation) (*open, error) {
	o := &open{spec: s, last: session.End{Code: event.CodePanic}} // if it does not return
	notices := opened.Notices{Retry: func(r event.Retry) { w.job.retried(o, r) }, Pause: func() func() { return w.job.TimeLimit.Pause() }}
	var err error
	if o.talk, err = w.job.run.equipment.OpenModel(s.task, s.child(), notices); err != nil {
		return nil, errModel{err}
	}
	s.speaks = cmp.Or(o.talk.As, s.task.Model)
	env, err := w.toolEnv(ctx, s)
	if err != nil {
		return nil, err
	}
	offer, err := w.extensions.tools(ctx, env, s)
	if err != nil {
		return nil, err
	}
	if o.transcript, err = w.job.openTranscript(s.name); err != nil {
		return nil, err
	}
	window, output := w.job.run.equipment.window(s)
	chat := w.extensions.set.Chat(w.job.SessionID(s.name), s.task.Agent, s.task.ModelName)
	boxes := &w.site.Sandboxes
	chat.Prompt, chat.System, chat.Messages, chat.Summary = site.Noting(boxes, chat.Prompt), site.Noting(boxes, chat.System), site.Noting(boxes, chat.Messages), site.Noting(boxes, chat.Summary)
	if chat.Prompt != nil {
		o.prompt = func(ctx context.Context, text string) string {
			made := chat.Prompt(ctx, text)
			if made == text { // as it was given
				return text
			}
			return w.job.opts.Redact.Held(made)
		}
	}
	own := w.job.instructions(w.site)
	notes := own.Repository(s.task.Profile)
	for _, n := range notes {
		w.job.ReadNotes(n.Name)
	}
	o.Session = session.New(session.Config{
		ID: w.job.SessionID(s.name), Job: w.job.Spec.ID, Agent: s.task.Agent, Parent: s.parent,
		Model: model.Announced(o.talk.Model, func() { w.site.Requested() }), ModelName: s.task.ModelName,
		System: prompt.System(own.Input(s.instructed(w.job, env), notes)),
		Tools:  offer, Env: env,
		Limits: sessionLimits(s.task.Limits), JobLimits: w.limits, Budget: w.budget.Session(s.task.Model, o.talk.Quotes),
		Sampling: model.Sampling(s.task.Sampling),
		Window:   window, MaxOutput: output,
		FinalSummary: !strings.HasPrefix(s.speaks, "script:"), Schema: s.schema(),
		Hooks: session.Hooks{System: chat.System, Messages: chat.Messages, Tools: chat.Tools, Tool: chat.Tool, Request: chat.Request, Summary: chat.Summary, Finished: chat.Finished},
		Journal: journal.NewWriter(o.transcript, w.job.opts.Now, w.job.opts.Redact.JSON, func(err error) {
			w.job.Warn(fmt.Sprintf("transcript incomplete: %v", err))
		}),
		FirstTurn: w.firstTurn(s, from), Checkpoint: w.checkpoint(s), Emit: w.emitter(ctx), Now: w.job.opts.Now,
	})
	if from != nil {
		o.Resume(from.state, from.totals, from.ended)
		if finish := o.talk.Finish; finish != nil { // an earlier process has used all turns if this one makes no request
			o.talk.Finish = func() error {
				if o.Totals().Turns == from.totals.Turns {
					return nil
				}
				return finish()
			}
		}
	}
	w.sessions.add(o)
	return o, nil
}

// emitter emits events of a session, also to plugins.
func (w *work) emitter(ctx context.Context) func(event.Event) {
	return func(e event.Event) {
		if e.Type == event.CallUpdated {
			w.job.refused.See(w.job.Spec.Profile, *e.Call)
		}
		w.escalation.see(e)
		w.job.opts.Emit(e)
		w.extensions.set.Tell(ctx, e)
	}
}

// limits returns the end of all sessions of the job once they have together
// exceeded its limits, nil before that. Money is limited by the budget instead.
func (w *work) limits(summary bool) *session.End {
	if end := sessionLimits(w.job.Spec.Limits).Exceeded(w.sessions.totals(), summary); end != nil {
		return end
	}
	if w.site.Complete() && w.site.Sandboxes.OverDisk(maxExcess) {
		return &session.End{Code: event.CodeLimit, Reason: fmt.Sprintf("disk limit exceeded by %d commands in a row (limits.disk)", maxExcess)}
	}
	return nil
}

// sessionLimits returns the limits that sessions check. Time and money are limited by
// their context and their budget.
func sessionLimits(l tasks.Limits) session.Limits {
	return session.Limits{Turns: l.Turns, Tokens: l.Tokens, Denials: l.Denials, Failures: l.Failures}
}

// facts returns the properties of a model.
func (o Equipment) facts(model string) opened.Facts {
	if o.Facts == nil {
		return opened.Facts{}
	}
	return o.Facts(model)
}

// window returns the context window and the maximum output in tokens, the minimum of all
// models in the job's list; 0 if unknown.
func (o Equipment) window(of sessionSpec) (all, withinLimits int) {
	least := func(a, b int) int {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	f := o.facts(of.speaks)
	for _, other := range of.task.Fallback {
		g := o.facts(other.ID)
		f.Context, f.MaxOutput = least(f.Context, g.Context), least(f.MaxOutput, g.MaxOutput)
	}
	return f.Context, f.MaxOutput
}

func (j *Job) openTranscript(name string) (*os.File, error) {
	f, err := j.opts.Dir.Append(savedsession.Path(name))
	if err != nil {
		return nil, fmt.Errorf("open the transcript: %w", err)
	}
	return f, nil
}

func (j *Job) retried(o *open, r event.Retry) {
	if o.Session != nil {
		r.Turn = o.Turn()
	}
	j.Emit(event.Event{Type: event.RequestRetried, Session: j.SessionID(o.spec.name), Retry: &r})
}

// maxExcess is the number of consecutive commands that can end above the disk limit before
// the job fails. The first was killed because of the limit; the others can clean up.
const maxExcess = 5
