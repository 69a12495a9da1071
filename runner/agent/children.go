package agent

import (
	"context"
	"fmt"
	"math"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// agents returns the agents that a session of a job can start.
func agents(plan *tasks.Plan) []tools.Agent {
	var list []tools.Agent
	for _, a := range plan.Agents {
		if a.Description != "" {
			list = append(list, tools.Agent{Name: a.Name, Description: a.Description})
		}
	}
	return list
}

// spawner returns the function that runs the task tool's calls of a session.
func (w *work) spawner(parent string) func(context.Context, tools.SpawnRequest) (tools.SpawnResult, error) {
	return func(ctx context.Context, r tools.SpawnRequest) (tools.SpawnResult, error) {
		child, unfinished, err := w.child(ctx, parent, r)
		if err != nil {
			return tools.SpawnResult{}, err
		}
		if !child.running.TryLock() {
			return tools.SpawnResult{}, fmt.Errorf("task %s is still running: wait for its result", r.TaskID)
		}
		defer child.running.Unlock()
		w.sessions.running.Add(1)
		defer w.sessions.running.Add(-1)
		before := child.Totals().Cost.USD()
		var end session.End
		if unfinished {
			before = new(money.USD) // the request that is repeated has no result
			end = child.resume(ctx)
		} else {
			end = child.run(ctx, child.prompted(ctx, r.Prompt))
		}
		res := tools.SpawnResult{TaskID: child.spec.name, Session: w.job.SessionID(child.spec.name), Text: end.Text, CostUSD: since(before, child.Totals().Cost.USD())}
		if !end.Done() {
			res.Failed = end.Reason
		}
		return res, nil
	}
}

// since returns the cost between two totals; nil if either is unknown.
func since(before, after *money.USD) *money.USD {
	if before == nil || after == nil {
		return nil
	}
	return new(after.Sub(*before))
}

// child returns the session that a request refers to, or a new one; unfinished if an earlier
// process has started it for the same request.
func (w *work) child(ctx context.Context, parent string, r tools.SpawnRequest) (o *open, unfinished bool, err error) {
	if r.TaskID != "" {
		o, err = w.namedChild(ctx, parent, r)
		return o, false, err
	}
	if o, err = w.unfinishedChild(ctx, parent, r); o != nil || err != nil {
		return o, true, err
	}
	o, err = w.newChild(ctx, parent, r)
	return o, false, err
}

// namedChild returns the session with the task_id of a request.
func (w *work) namedChild(ctx context.Context, parent string, r tools.SpawnRequest) (*open, error) {
	for _, o := range w.sessions.children() {
		if o.spec.name != r.TaskID {
			continue
		}
		if o.spec.task.Agent != r.Agent {
			return nil, otherAgent(r.TaskID, o.spec.task.Agent)
		}
		return o, nil
	}
	if o, err := w.reopenChild(ctx, parent, r); o != nil || err != nil {
		return o, err
	}
	return nil, fmt.Errorf("task %s not found in this session: omit task_id to start a new one", r.TaskID)
}

// newChild opens a session for an agent, with at most the limits and the profile of the
// job.
func (w *work) newChild(ctx context.Context, parent string, r tools.SpawnRequest) (*open, error) {
	name := fmt.Sprintf("%s.task-%d", w.job.Spec.ID, w.sessions.nextChild())
	return w.openSession(ctx, w.job.childSpec(parent, r.Agent, name), nil)
}

func (j *Job) childSpec(parent, name, file string) sessionSpec {
	main := j.ownSpec() // a child may do no more than the agent that starts it
	s := sessionSpec{task: j.Spec.WithProfile(main.task.Profile), narrowed: main.narrowed, parent: parent, name: file}
	s.take(agentOf(j.Plan, name))
	if m := s.agent.Model; m != nil {
		s.task = s.task.WithModel(*m)
	}
	return s
}

// reopenChild opens the session of an earlier process that a request refers to; nil if
// it was not found.
func (w *work) reopenChild(ctx context.Context, parent string, r tools.SpawnRequest) (*open, error) {
	totals, found := w.sessions.takeEarlier(w.job.SessionID(r.TaskID))
	if !found {
		return nil, nil
	}
	state, _, err := savedsession.Read(w.job.opts.Dir, r.TaskID)
	if err == nil && state == nil {
		return nil, nil
	}
	if err == nil {
		err = state.Resume(func(string) bool { return true })
	}
	if err != nil {
		return nil, fmt.Errorf("continue task %s: %w", r.TaskID, err)
	}
	if state.Session.Agent != r.Agent {
		return nil, otherAgent(r.TaskID, state.Session.Agent)
	}
	return w.openSession(ctx, w.job.childSpec(parent, r.Agent, r.TaskID), &continuation{state, totals, math.MaxInt})
}

// otherAgent is the error of a request that continues the task of another agent.
func otherAgent(task, agent string) error {
	return fmt.Errorf("task %s belongs to agent %s: use that agent, or omit task_id", task, agent)
}

// takeEarlier removes the totals of a child of an earlier process and returns them.
func (s *sessions) takeEarlier(id string) (totals event.Totals, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	totals, found = s.earlier[id]
	delete(s.earlier, id)
	return totals, found
}

// ownSpec returns the spec of the task's main session. Its model is from the plan.
func (j *Job) ownSpec() sessionSpec {
	s := sessionSpec{task: j.Spec, name: j.Spec.ID}
	s.take(agentOf(j.Plan, j.Spec.Agent))
	return s
}

// AgentProfile returns the profile of the job's own session.
func (j *Job) AgentProfile() permission.Profile { return j.ownSpec().task.Profile }

// agentOf returns an agent of the plan.
func agentOf(plan *tasks.Plan, name string) tasks.Agent {
	for _, a := range plan.Agents {
		if a.Name == name {
			return a
		}
	}
	return tasks.Agent{Name: name}
}

// take sets the agent of a session. The agent's settings can only reduce those of the
// task.
func (s *sessionSpec) take(a tasks.Agent) {
	s.agent = a
	if a.Max != nil || len(a.Restrictions) > 0 {
		s.narrowed += "agent " + a.Name + " "
	}
	var without []string
	if s.parent != "" { // its list would be of no use to the agent that started it
		without = permission.TodoTools()
	}
	s.task = s.task.WithAgent(a, without...)
}

// nextChild returns the number of the next child of the job, from 1.
func (s *sessions) nextChild() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	return s.started
}

// closeChildren reports the ends of the main session's children.
func (s *sessions) closeChildren() {
	for _, o := range s.children() {
		o.close()
	}
}
