package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools"
)

// An unfinished child is one whose request, a call of the task tool, is repeated: an earlier
// process was killed before the turn of the call was complete. It continues if it has only read, or if
// nothing else in that turn can have changed files: they get the state after its last turn then, and otherwise that before the request.

// canChange reports whether calls of a tool can have changed files.
func canChange(tool string) bool { return !tools.IsReadOnly(tool) }

// hasChanged reports whether a child can have changed files, also by calls that its conversation has no more because it was compacted.
func hasChanged(child *journal.State) bool {
	return slices.ContainsFunc(child.History, func(e journal.Entry) bool {
		return e.Message != nil && e.Message.Call != nil && canChange(e.Message.Call.Tool)
	})
}

func isCompacted(child *journal.State) bool {
	return slices.ContainsFunc(child.History, func(e journal.Entry) bool { return e.Compaction != nil })
}

// continues reports whether a child of an earlier process continues when its request is
// repeated, given the session that repeats it; nil for none. kept are the children that do: of several for the same request one
// continues, so a second one can't bring its files. Neither can one if they are rebased.
func (main *continuation) continues(child *journal.State, kept map[string]*continuation, rebased bool) bool {
	if main == nil || child == nil || len(child.Messages) == 0 || child.Session.Parent != main.state.Session.ID {
		return false
	}
	calls := main.state.Messages[len(main.state.Messages)-1].Calls
	asked := slices.ContainsFunc(calls, func(c model.ToolCall) bool {
		var in struct {
			Prompt string `json:"prompt"`
			Agent  string `json:"subagent_type"`
			TaskID string `json:"task_id"`
		}
		return permission.Alias(strings.ToLower(c.Name)) == "task" && json.Unmarshal([]byte(c.Input), &in) == nil && in.TaskID == "" && starts(child, in.Agent, in.Prompt)
	})
	if !asked || !hasChanged(child) {
		return asked
	}
	changing := slices.DeleteFunc(slices.Clone(calls), func(c model.ToolCall) bool { return !canChange(c.Name) })
	if len(changing) > 1 || isCompacted(child) || rebased { // which turns have changed files is not known after a compaction
		return false
	}
	for _, other := range kept {
		if other.state.Session.Parent == child.Session.Parent {
			return false
		}
	}
	return true
}

// starts reports whether a child was started for an agent with a prompt.
func starts(child *journal.State, agent, prompt string) bool {
	first := child.Messages[0]
	return child.Session.Agent == agent && first.Role == model.User && first.Text == prompt
}

// keepUnfinished reduces the conversation of an unfinished child to what it continues with,
// and returns the turn whose response was received, 0 for none.
func (w *work) keepUnfinished(file string, from *continuation) (continued int, err error) {
	if hasChanged(from.state) {
		from.state.DropUnsaved(canChange)
	}
	if err := from.state.Resume(w.site.Saved().Has); err != nil {
		return 0, err
	}
	if w.unfinished == nil {
		w.unfinished = map[string]*continuation{}
	}
	w.unfinished[file] = from
	w.childTree = cmp.Or(w.childTree, from.state.Tree())
	return from.continued(), nil
}

// continued returns the turn whose response was received and whose calls are repeated, 0 for
// none.
func (c *continuation) continued() int {
	if n := len(c.state.Messages); n > 0 && c.state.Messages[n-1].Response != nil {
		return c.state.Messages[n-1].Response.Number
	}
	return 0
}

// takeUnfinished returns where the session with a name was interrupted; nil for a new one.
func (w *work) takeUnfinished(name string) *continuation {
	w.sessions.mu.Lock()
	from := w.unfinished[name]
	delete(w.unfinished, name)
	w.sessions.mu.Unlock()
	if from != nil {
		w.sessions.takeEarlier(w.job.SessionID(name))
	}
	return from
}

// unfinishedChild opens the unfinished child that a repeated request started; nil if it
// started none.
func (w *work) unfinishedChild(ctx context.Context, parent string, r tools.SpawnRequest) (*open, error) {
	w.sessions.mu.Lock()
	name := ""
	for file, from := range w.unfinished {
		if starts(from.state, r.Agent, r.Prompt) && (name == "" || file < name) {
			name = file
		}
	}
	w.sessions.mu.Unlock()
	from := w.takeUnfinished(name)
	if from == nil {
		return nil, nil
	}
	return w.openSession(ctx, w.job.childSpec(parent, r.Agent, name), from)
}
