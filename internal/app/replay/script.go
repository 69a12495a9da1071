package replay

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/report"
)

// turn is one response in a script.
type turn struct {
	Text  string        `json:"text"`
	Calls []callInTurn  `json:"calls,omitempty"`
	Usage *usageInTurn  `json:"usage,omitempty"`
	End   *model.Finish `json:"finish,omitempty"`
}

type callInTurn struct {
	Tool string `json:"tool"`
	Raw  string `json:"raw"`
}

type usageInTurn struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

type turns struct {
	Turns []turn `json:"turns"`
}

// script writes the responses of a job's model as a script, in a file whose path it returns, or returns why the job can't
// be replayed.
func (r *replayed) script(id string) (file, why string) {
	j, facts := r.job(id), r.was.past.Job(id)
	switch {
	case j == nil || facts == nil || facts.Start == nil || len(j.Sessions) == 0:
		return "", "it has no conversation"
	case facts.Fork != nil:
		return "", "it continues a conversation of another run"
	case facts.FirstTree() != "":
		return "", "it changed the tree of the user, whose files no commit has"
	}
	own, agents := turns{}, map[string]turns{}
	for i, s := range j.Sessions {
		list, why := r.responses(s, facts.Start.Workspace)
		if why != "" {
			return "", why
		}
		if i == 0 {
			own.Turns = list
			continue
		}
		if _, twice := agents[s.Agent]; twice {
			return "", fmt.Sprintf("it has several subagents %s, whose order is not known", s.Agent)
		}
		agents[s.Agent] = turns{list}
	}
	data, err := json.Marshal(struct {
		Version int `json:"version"`
		turns
		Agents map[string]turns `json:"agents,omitempty"`
	}{1, own, agents})
	if err == nil {
		file = filepath.Join(r.scripts.Path(), id+".yaml")
		err = r.scripts.Write(id+".yaml", data, 0o600)
	}
	if err != nil {
		return "", err.Error()
	}
	return file, ""
}

func (r *replayed) job(id string) *report.Job {
	for i := range r.was.run.Report.Jobs {
		if j := &r.was.run.Report.Jobs[i]; j.ID == id {
			return j
		}
	}
	return nil
}

// responses returns the responses of a session, in their order.
func (r *replayed) responses(s report.Session, workspace string) (list []turn, why string) {
	saved, err := r.was.run.Session(s)
	if err != nil {
		return nil, err.Error()
	}
	conversations, seen := 0, map[string]bool{}
	for _, e := range saved.State.History {
		switch m := e.Message; {
		case e.Session != nil:
			conversations++
		case e.Resume != nil:
			return nil, "its conversation was continued by another process"
		case e.Compaction != nil:
			return nil, "its conversation was compacted"
		case m != nil && m.Role == model.Assistant && !seen[m.ID]:
			seen[m.ID] = true
			list = append(list, response(m, workspace))
		}
	}
	switch {
	case conversations > 1:
		return nil, "it was started again"
	case len(list) == 0:
		return nil, "its model has not responded"
	}
	return list, ""
}

// response returns a response. The workspace, which has another path each time, is the current directory of tools.
func response(m *journal.Message, workspace string) turn {
	t := turn{Text: m.Text}
	for _, c := range m.Calls {
		t.Calls = append(t.Calls, callInTurn{c.Name, strings.ReplaceAll(c.Input, workspace, ".")})
	}
	if e := m.Response; e != nil && e.Usage != nil {
		t.Usage = &usageInTurn{e.Usage.Input, e.Usage.Output}
	}
	return t
}
