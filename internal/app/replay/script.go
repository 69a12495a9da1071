package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// turn is one response in a script.
type turn struct {
	Text  string        `json:"text"`
	Calls []callInTurn  `json:"calls,omitempty"`
	Usage *usageInTurn  `json:"usage,omitempty"`
	End   string        `json:"finish,omitempty"`
	Error *errorInTurn  `json:"error,omitempty"`
	calls []callInModel // ids of the calls, in the same order
}

// MarshalJSON writes a response or a failed request: a script has one of them in a turn.
func (t turn) MarshalJSON() ([]byte, error) {
	if t.Error != nil {
		return json.Marshal(map[string]any{"error": t.Error})
	}
	type plain turn
	return json.Marshal(plain(t))
}

type callInTurn struct {
	Tool string `json:"tool"`
	Raw  string `json:"raw"`
}

type callInModel struct {
	turn int
	id   string
}

type usageInTurn struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

type errorInTurn struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

type turns struct {
	Turns []turn `json:"turns"`
}

// replay returns what a job of the run is replayed with, or why it can't be.
func (r *replayed) replay(ctx context.Context, planned tasks.Job) (with tasks.Replay, why string) {
	j, facts := r.job(planned.ID), r.was.past.Job(planned.ID)
	if j == nil || facts == nil || facts.Start == nil || len(j.Sessions) == 0 {
		return with, noConversation
	}
	if why := r.stopped(j, facts); why != "" {
		return with, why
	}
	talks, why := r.conversations(j.Sessions[0], facts)
	switch {
	case why != "":
		return with, why
	case len(talks) != 1+len(facts.Escalated):
		return with, "it was started again"
	case len(facts.Escalated) > len(planned.Escalate):
		return with, "its task has fewer models in escalate now"
	}
	agents, why := r.agents(j, talks, facts)
	if why != "" {
		return with, why
	}
	var files []string
	for i, talk := range talks {
		file, err := r.write(fmt.Sprintf("%s.%d", planned.ID, i), talk, agents[i])
		if err != nil {
			return with, err.Error()
		}
		files = append(files, file)
	}
	with.Script, with.Escalate, with.Base = files[0], files[1:], facts.First
	if planned.Review != nil {
		if with.Review, why = r.reviewer(j, facts); why != "" {
			return with, why
		}
	}
	if facts.Fork == nil && facts.FirstTree() != "" && planned.Repo.Kind != tasks.RepoCopy {
		var err error
		if with.Dir, with.Borrows, err = r.restored(ctx, planned, facts); err != nil {
			return with, err.Error()
		}
	}
	return with, ""
}

// noConversation is why jobs are left out that no model has worked on.
const noConversation = "it has no conversation"

// stopped returns why the end of a job does not follow from its model's responses; "" if it does.
func (r *replayed) stopped(j *report.Job, facts *history.Facts) string {
	end := facts.End
	switch {
	case end == nil:
		return "it was killed"
	case j.Outcome == event.Provider, end.Code == event.CodeContext:
		return "its model failed: " + string(end.Code)
	case j.Outcome == event.Budget, j.Outcome == event.Cancelled, end.Cause == event.CodeRunTime:
		return "it was stopped while its model worked: " + string(j.Outcome)
	}
	return ""
}

// restored makes a repository whose HEAD has the files that a job which worked in place has started from, and returns the directory
// that stands for the job's, and those of the objects that it borrows.
func (r *replayed) restored(ctx context.Context, planned tasks.Job, facts *history.Facts) (dir string, borrows []string, err error) {
	own, err := gitops.Open(planned.Repo.Dir, r.git)
	if err != nil {
		return "", nil, err
	}
	at := filepath.Join(r.scripts.Path(), "repositories", planned.ID)
	nobody := gitops.Signature{Name: "millhand", Email: "millhand@localhost"}
	made, err := own.CheckOutState(ctx, at, filepath.Join(r.was.run.Dir, filepath.FromSlash(savedsession.States)), facts.FirstTree(),
		gitops.CommitOptions{Parent: facts.First, Message: "files that the job has started from", Author: nobody, Committer: nobody})
	if err != nil {
		return "", nil, err
	}
	below, err := filepath.Rel(own.Root(), planned.Repo.Dir)
	if err != nil {
		return "", nil, fmt.Errorf("find the job's directory in its repository: %w", err)
	}
	return filepath.Join(made.Root(), below), made.Git.Objects.Dirs(), nil
}

// write writes a script, and returns its file.
func (r *replayed) write(name string, list []turn, agents map[string]turns) (string, error) {
	data, err := json.Marshal(struct {
		Version int `json:"version"`
		turns
		Agents map[string]turns `json:"agents,omitempty"`
	}{1, turns{list}, agents})
	if err != nil {
		return "", fmt.Errorf("write the script of job %s: %w", name, err)
	}
	return filepath.Join(r.scripts.Path(), name+".yaml"), r.scripts.Write(name+".yaml", data, 0o600)
}

func (r *replayed) job(id string) *report.Job {
	for i := range r.was.run.Report.Jobs {
		if j := &r.was.run.Report.Jobs[i]; j.ID == id {
			return j
		}
	}
	return nil
}

// conversations returns the responses of a session, of each conversation in it. Those that it has of another run are left out. A
// summary of older messages is no response: the script needs no shorter conversation.
func (r *replayed) conversations(s report.Session, facts *history.Facts) (all [][]turn, why string) {
	saved, err := r.was.run.Session(s)
	if err != nil {
		return nil, err.Error()
	}
	copied := ""
	if facts.Fork != nil && s.Parent == nil {
		copied = facts.Fork.After
	}
	seen := map[string]bool{}
	for _, e := range saved.State.History {
		m := e.Message
		switch {
		case e.Session != nil: // its messages have ids of their own
			all, seen = append(all, nil), map[string]bool{}
		case e.Resume != nil && facts.Fork != nil && e.Resume.After == facts.Fork.After: // the fork begins
		case e.Resume != nil:
			return nil, "another process has continued its conversation"
		case m == nil || seen[m.ID] || len(all) == 0:
		case copied != "":
			if m.ID == copied {
				copied = ""
			}
		case m.Role == model.Assistant:
			all[len(all)-1] = append(all[len(all)-1], response(m, facts.Start.Workspace))
		}
		if m != nil {
			seen[m.ID] = true
		}
	}
	for _, talk := range all {
		if len(talk) == 0 {
			return nil, "its model has not responded"
		}
	}
	return all, ""
}

// agents returns the responses of subagents for each conversation of the job's own session. The second session of an agent plays the
// list NAME#2.
func (r *replayed) agents(j *report.Job, talks [][]turn, facts *history.Facts) (all []map[string]turns, why string) {
	sessions := map[string]report.Session{}
	for _, s := range j.Sessions[1:] {
		sessions[s.ID] = s
	}
	children := map[callInModel]string{}
	for _, c := range j.Calls {
		if c.Metadata != nil && c.Metadata.ChildSession != "" {
			children[callInModel{c.Turn, c.ID}] = c.Metadata.ChildSession
		}
	}
	for _, talk := range talks {
		lists, in := map[string]turns{}, map[string]int{}
		for _, t := range talk {
			before := map[string]bool{}
			for _, c := range t.calls {
				s, starts := sessions[children[c]]
				if !starts {
					continue
				}
				delete(sessions, s.ID)
				if before[s.Agent] {
					return nil, fmt.Sprintf("several subagents %s have worked at the same time", s.Agent)
				}
				before[s.Agent] = true
				list, why := r.conversations(s, facts)
				if why != "" || len(list) != 1 {
					return nil, cmp.Or(why, "a subagent was started again")
				}
				in[s.Agent]++
				lists[numbered(s.Agent, in[s.Agent])] = turns{list[0]}
			}
		}
		all = append(all, lists)
	}
	delete(sessions, r.was.past.Run.ID+"/"+event.ReviewSession(j.ID))
	if len(sessions) > 0 {
		return nil, "it has subagents that no call of its model has started"
	}
	return all, ""
}

// numbered is the name of the n-th list of an agent in a script.
func numbered(agent string, n int) string {
	if n == 1 {
		return agent
	}
	return fmt.Sprintf("%s#%d", agent, n)
}

// reviewer writes the script of the reviewer of a job.
func (r *replayed) reviewer(j *report.Job, facts *history.Facts) (file, why string) {
	list := []turn{{Error: &errorInTurn{"request", "the saved run has no review"}}}
	for _, s := range j.Sessions {
		if s.Name() != event.ReviewSession(j.ID) {
			continue
		}
		talks, why := r.conversations(s, facts)
		if why != "" || len(talks) != 1 {
			return "", "review: " + cmp.Or(why, "it was started again")
		}
		list = talks[0]
	}
	file, err := r.write(j.ID+".review", list, nil)
	if err != nil {
		return "", err.Error()
	}
	return file, ""
}

// response returns a response. The workspace, which has another path each time, is the current directory of tools.
func response(m *journal.Message, workspace string) turn {
	t := turn{Text: m.Text}
	for _, c := range m.Calls {
		t.Calls = append(t.Calls, callInTurn{c.Name, strings.ReplaceAll(c.Input, workspace, ".")})
		t.calls = append(t.calls, callInModel{m.Turn, c.ID})
	}
	usual := model.FinishStop
	if len(m.Calls) > 0 {
		usual = model.FinishTools
	}
	if e := m.Response; e != nil {
		if u := e.Usage; u != nil {
			t.Usage = &usageInTurn{u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite}
		}
		if e.Finish != string(usual) {
			t.End = e.Finish
		}
	}
	return t
}
