package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// agents lists whom a session of this job may start.
func (j *job) agents() []tools.Agent {
	var list []tools.Agent
	for _, a := range j.plan.Agents {
		if a.Description != "" {
			list = append(list, tools.Agent{Name: a.Name, Description: a.Description})
		}
	}
	return list
}

// spawner returns what carries out the task tool's calls of a session.
func (j *job) spawner(parent string) func(context.Context, tools.SpawnRequest) (tools.SpawnResult, error) {
	return func(ctx context.Context, r tools.SpawnRequest) (tools.SpawnResult, error) {
		child, err := j.child(ctx, parent, r)
		if err != nil {
			return tools.SpawnResult{}, err
		}
		if !child.running.TryLock() {
			return tools.SpawnResult{}, fmt.Errorf("the task %s is still running: wait for its answer", r.TaskID)
		}
		defer child.running.Unlock()
		before := child.Totals().CostUSD
		child.last = child.Run(ctx, r.Prompt)
		res := tools.SpawnResult{TaskID: taskID(child.seat), Text: child.last.Text, CostUSD: since(before, child.Totals().CostUSD)}
		if child.last.Kind != session.Done {
			res.Failed = child.last.Reason
		}
		return res, nil
	}
}

// since is what was spent between two sums; nil if either is unknown.
func since(before, after *money.USD) *money.USD {
	if before == nil || after == nil {
		return nil
	}
	spent := after.Sub(*before)
	return &spent
}

// taskID is the name by which a model can go on with a child session.
func taskID(s seat) string { return s.file[strings.LastIndexByte(s.file, '.')+1:] }

// child finds the session that a request names, or makes a new one.
func (j *job) child(ctx context.Context, parent string, r tools.SpawnRequest) (*open, error) {
	if r.TaskID == "" {
		return j.newChild(ctx, parent, r)
	}
	for _, o := range j.sessions.children() {
		if taskID(o.seat) != r.TaskID {
			continue
		}
		if o.seat.Agent != r.Agent {
			return nil, fmt.Errorf("the task %s is of the agent %s: name that one, or leave task_id out", r.TaskID, o.seat.Agent)
		}
		return o, nil
	}
	return nil, fmt.Errorf("there is no task %s in this session: leave task_id out to begin a new one", r.TaskID)
}

// newChild makes a session for an agent: with its own limits below those of the
// job, and a profile that is never wider than the job's.
func (j *job) newChild(ctx context.Context, parent string, r tools.SpawnRequest) (*open, error) {
	s := seat{Job: j.Job, parent: parent}
	s.take(j.agent(r.Agent))
	if m := s.agent.Model; m != nil {
		s.Model, s.ModelName, s.Fallback = m.ID, m.Name, nil
	}
	n := j.nextChild()
	s.id = fmt.Sprintf("%s.%d", parent, n)
	s.file = fmt.Sprintf("%s.task-%d", j.ID, n)
	return j.openSession(ctx, s)
}

// ownSeat is that of the task's own session. Its model is the plan's word.
func (j *job) ownSeat() seat {
	s := seat{Job: j.Job, id: j.sessionID(), file: j.ID}
	s.take(j.agent(j.Agent))
	return s
}

// agent returns what the plan says of an agent.
func (j *job) agent(name string) tasks.Agent {
	for _, a := range j.plan.Agents {
		if a.Name == name {
			return a
		}
	}
	return tasks.Agent{Name: name}
}

// take puts an agent on a seat: what it has of its own comes below what the
// task has.
func (s *seat) take(a tasks.Agent) {
	s.agent, s.Agent = a, a.Name
	if a.Most != nil {
		s.Profile = s.Profile.Under(*a.Most)
	}
	if len(a.Narrow) > 0 {
		s.Profile = s.Profile.Narrowed("agent "+a.Name, a.Narrow)
	}
	if a.NoTodo {
		s.Profile = s.Profile.Clone()
		for _, tool := range []string{"todowrite", "todoread"} {
			s.Profile.Rules = append(s.Profile.Rules, permission.Rule{Permission: tool, Pattern: "*", Source: "agent " + a.Name})
		}
	}
	if a.Turns > 0 && (s.Limits.Turns == 0 || a.Turns < s.Limits.Turns) {
		s.Limits.Turns = a.Turns
	}
}

// nextChild numbers the children of the job, from 1.
func (j *job) nextChild() int {
	j.sessions.mu.Lock()
	defer j.sessions.mu.Unlock()
	j.sessions.started++
	return j.sessions.started
}

// closeChildren tells the ends of the sessions that the task's own has started.
func (j *job) closeChildren() {
	for _, o := range j.sessions.children() {
		o.close(o.last)
	}
}
