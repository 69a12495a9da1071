package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// asksChild is a turn that gives a prompt to an agent, or to the session of an earlier one.
func asksChild(agent, prompt, task string) string {
	more := ""
	if task != "" {
		more = ", task_id: " + task
	}
	return "  - {calls: [{tool: task, args: {description: d, subagent_type: " + agent + ", prompt: " + prompt + more + "}}]}\n"
}

// helpers is a plan with an agent that jobs can start, and one without a description, which they can't.
func helpers() *tasks.Plan {
	return &tasks.Plan{Agents: []tasks.Agent{{Name: "look", Description: "looks"}, {Name: "test", Description: "tests"}, {Name: "hidden"}}}
}

// A child whose request is repeated, because the process was killed in it, continues after its last turn, with the files of
// that turn: what it has changed is there once.
func TestAChildThatWasKilled(t *testing.T) {
	for name, c := range map[string]struct {
		calls    string // of the child's first turn
		kill     func(event.Event) bool
		later    string // turns of the child in the second process
		children string // that ended in the second process
		turns    int
		input    int64
		files    string
	}{
		"continues":             {"{tool: read, args: {filePath: base}}", inCall("r1/a.task-1", 1), "{expect: [\"1: 0\"], text: found}", "r1/a.task-1", 4, 25, ""},
		"has not been asked":    {"{tool: read, args: {filePath: base}}", func(e event.Event) bool { return e.Type == event.SessionStarted && e.Session == "r1/a.task-1" }, "{expect: [\"^where$\"], text: found}", "r1/a.task-1", 3, 5, ""},
		"has changed something": {"{tool: bash, args: {command: echo 1 >>x}}", inCall("r1/a.task-1", 2), "{expect: [\"1: 0\"], text: found}", "r1/a.task-1", 5, 45, "x: 1"},
		"was about to":          {"{tool: bash, args: {command: cat base}}", inCall("r1/a.task-1", 1), "{expect: [\"^0\"], text: found}", "r1/a.task-1", 4, 25, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.commit(map[string]string{"base": "0\n"})
			spec := s.job("a")
			s.kill = c.kill
			own := strings.Replace(asksChild("look", "where", ""), "{calls", "{usage: {input: 5}, calls", 1)
			s.works(helpers(), spec, own+"agents:\n  look: {turns: [{calls: ["+c.calls+"], usage: {input: 20}}, {calls: [{tool: read, args: {filePath: base}}], usage: {input: 20}}]}\n")
			s.next(history.Order{})
			p, r, end := s.works(helpers(), spec, "  - {expect: [found], text: done}\nagents:\n  look: {turns: ["+c.later+"]}\n")
			if end != nil || r.Final != "done" || r.Totals.Turns != c.turns || r.Totals.Usage.Input != c.input {
				t.Errorf("%+v, %+v", end, r)
			}
			var ended []string
			for _, e := range s.of(event.SessionEnded) {
				if e.SessionInfo.Parent == "r1/a" {
					ended = append(ended, e.Session)
				}
			}
			if got := strings.Join(ended, ", "); got != c.children || filesIn(p.Dir, "x") != c.files {
				t.Errorf("children %s, files %s", got, filesIn(p.Dir, "x"))
			}
		})
	}
}

// A child of a fork is not named as one of the conversation that was copied, whose task it would seem to be.
func TestAChildOfAForkHasANewName(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.works(helpers(), spec, asksChild("look", "where", "")+"  - text: first\nagents:\n  look: {turns: [{text: found}]}\n")
	s.fork(savedsession.Request{Message: "m3", Prompt: "Else."})
	_, r, end := s.works(helpers(), spec, asksChild("look", "there", "")+"  - {expect: [nothing], text: second}\nagents:\n  look: {turns: [{expect: ['^there$'], text: nothing}]}\n")
	if end != nil || r.Final != "second" {
		t.Errorf("%+v, %+v", end, r)
	}
	var names []string
	for _, e := range s.of(event.SessionStarted) {
		names = append(names, e.Session)
	}
	if got := strings.Join(names, ", "); got != "r2/a, r2/a.task-2" {
		t.Errorf("sessions %s", got)
	}
}

// A follow-up prompt can continue the children of the job, by the agent that has begun them.
func TestAChildOfAnEarlierProcess(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	s.works(helpers(), spec, asksChild("look", "where", "")+"  - text: first\nagents:\n  look: {turns: [{calls: [{tool: write, args: {filePath: x, content: x}}]}, {text: found, usage: {input: 20}}]}\n")
	if state, _, err := savedsession.Read(s.opts.Dir, "a.task-1"); err != nil || state.Tree() == "" {
		t.Errorf("%v: its files are not saved", err)
	}
	s.next(history.Order{Do: history.FollowUp{Prompt: "More."}, Job: "a"})
	_, r, end := s.works(helpers(), spec, asksChild("look", "else", "a.task-1")+
		asked("other", asksChild("test", "else", "a.task-1"))+
		asked("task a.task-1 belongs to agent look", asksChild("look", "else", "a.task-7"))+
		asked("task a.task-7 not found", asksChild("hidden", "else", "''"))+
		"  - {expect: [hidden], text: second}\nagents:\n  look: {turns: [{expect: ['else$'], text: other}]}\n")
	if end != nil || r.Final != "second" || r.Totals.Turns != 10 || r.Totals.Usage.Input != 20 {
		t.Errorf("%+v, %+v", end, r)
	}
	if got := s.turnsOf(); got != "3, 3, 4, 5, 6, 7" {
		t.Errorf("turns %s", got)
	}
}

// Which children continue depends on the last request of the job's own session.
func TestUnfinishedChildren(t *testing.T) {
	main := func(id string, calls ...model.ToolCall) *continuation {
		return &continuation{state: &journal.State{Session: journal.Session{ID: id}, Messages: []journal.Message{{}, {Message: model.Message{Calls: calls}}}}}
	}
	child := func(tools ...string) *journal.State {
		s := &journal.State{Session: journal.Session{Parent: "r/a", Agent: "look"}, Messages: []journal.Message{{Message: model.Message{Role: model.User, Text: "where"}}}}
		for _, tool := range tools {
			s.Messages = append(s.Messages, journal.Message{Call: &event.Call{Tool: tool}})
			s.History = append(s.History, journal.Entry{Message: &s.Messages[len(s.Messages)-1]})
		}
		return s
	}
	ask := func(tool, input string) model.ToolCall { return model.ToolCall{Name: tool, Input: input} }
	const request = `{"prompt": "where", "subagent_type": "look"}`
	for name, c := range map[string]struct {
		main  *continuation
		child *journal.State
		want  bool
	}{
		"asked again":           {main("r/a", ask("read", "{}"), ask("task", request)), child("read", "grep"), true},
		"by another name":       {main("r/a", ask("Task", request)), child(), true},
		"a new job":             {nil, child(), false},
		"without a journal":     {main("r/a", ask("task", request)), nil, false},
		"without a prompt":      {main("r/a", ask("task", request)), &journal.State{Session: child().Session}, false},
		"of another session":    {main("r/b", ask("task", request)), child(), false},
		"not asked":             {main("r/a", ask("read", request)), child(), false},
		"asked for else":        {main("r/a", ask("task", `{"prompt": "what", "subagent_type": "look"}`)), child(), false},
		"another agent":         {main("r/a", ask("task", `{"prompt": "where", "subagent_type": "test"}`)), child(), false},
		"an earlier task":       {main("r/a", ask("task", `{"prompt": "where", "subagent_type": "look", "task_id": "a.task-1"}`)), child(), false},
		"an invalid call":       {main("r/a", ask("task", request[1:])), child(), false},
		"has changed something": {main("r/a", ask("task", request)), child("read", "edit"), true},
		"beside another reader": {main("r/a", ask("read", "{}"), ask("task", request)), child("read", "edit"), true},
		"beside a command":      {main("r/a", ask("bash", "{}"), ask("task", request)), child("read", "edit"), false},
		"beside another child":  {main("r/a", ask("task", request), ask("task", request)), child("read", "edit"), false},
	} {
		if got := c.main.continues(c.child, nil, false); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Of several unfinished children for the same request, the first continues; each only once.
func TestAnUnfinishedChildIsTakenOnce(t *testing.T) {
	s := setUp(t)
	j := s.begin(helpers(), s.job("a"))
	w := newWork(j, s.prepared(j))
	j.run.equipment.OpenModel = plays(t, "  - text: unused\nagents:\n  look: {turns: [{text: x}]}\n")
	w.unfinished = map[string]*continuation{}
	for _, name := range []string{"a.task-2", "a.task-1", "a.task-3"} {
		w.unfinished[name] = &continuation{state: &journal.State{Session: journal.Session{Agent: "look"}, Messages: []journal.Message{{ID: "m1", Message: model.Message{Role: model.User, Text: "where"}}}}}
		w.sessions.earlier[j.SessionID(name)] = event.Totals{Turns: 1}
	}
	for _, want := range []string{"a.task-1", "a.task-2", "a.task-3", "a.task-1"} {
		o, unfinished, err := w.child(t.Context(), "r1/a", tools.SpawnRequest{Agent: "look", Prompt: "where"})
		if err != nil {
			t.Fatal(err)
		}
		defer o.transcript.Close()
		if again := len(w.unfinished) == 0 && want == "a.task-1"; o.spec.name != want || unfinished == again {
			t.Errorf("%s, unfinished %t, want %s", o.spec.name, unfinished, want)
		}
	}
	if len(w.sessions.earlier) != 0 {
		t.Errorf("counted twice: %v", w.sessions.earlier)
	}
}

// What a child costs is reported with each result; it is unknown if a price is.
func TestTheCostOfAChildsResult(t *testing.T) {
	s := setUp(t)
	play := plays(t, "  - text: unused\nagents:\n  look: {turns: [{text: one, usage: {input: 3}}, {text: two, usage: {input: 4}}, {error: {class: auth, message: bad key}}]}\n")
	j := s.begin(helpers(), s.job("a"))
	w := newWork(j, s.prepared(j))
	j.run.equipment.OpenModel = priced(play)
	main, err := w.openSession(t.Context(), j.ownSpec(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer main.transcript.Close()
	spawn := w.spawner("r1/a")
	task := ""
	for _, want := range []struct {
		text, failed string
		usd          money.USD
	}{{"one", "", 3}, {"two", "", 4}, {"", "model request failed (auth, HTTP 401): bad key", 0}} {
		got, err := spawn(t.Context(), tools.SpawnRequest{Agent: "look", Prompt: "p", TaskID: task})
		if err != nil || got.Text != want.text || got.Failed != want.failed || got.CostUSD == nil || *got.CostUSD != want.usd || got.Session != "r1/a.task-1" {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		task = got.TaskID
	}
	w.sessions.closeChildren()
}

// A saved child that can't be continued is an error of the call: the session goes on.
func TestASavedChildThatCantContinue(t *testing.T) {
	for name, c := range map[string]struct {
		agent   string
		journal string // appended; "" leaves it
		want    string
	}{
		"another agent":   {"test", "", "task a.task-1 belongs to agent look"},
		"a broken file":   {"look", "broken\n", "continue task a.task-1: .*read the session, line "},
		"a removed file":  {"look", "-", "task a.task-1 not found"},
		"as it was saved": {"look", "", "found again"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			s.works(helpers(), spec, asksChild("look", "where", "")+"  - text: first\nagents:\n  look: {turns: [{text: found}]}\n")
			s.next(history.Order{Do: history.FollowUp{Prompt: "More."}, Job: "a"})
			s.breakJournal("a.task-1", c.journal)
			_, _, end := s.works(helpers(), spec, asksChild(c.agent, "else", "a.task-1")+"  - {expect: ['"+c.want+"'], text: second}\nagents:\n  look: {turns: [{text: found again}]}\n")
			if got := ending.Reason(end); strings.Contains(got, "expects") {
				t.Error(got)
			}
		})
	}
}

// breakJournal appends a text to the journal of a session; "-" removes it.
func (s *stage) breakJournal(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.opts.Dir.Path(), filepath.FromSlash(savedsession.Path(name)))
	if text == "-" {
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	writeFile(s.t, file, string(saved)+text)
}

// A child that has changed files continues alone, and only if it is known which of its turns have, and its files are not rebased.
func TestAChildThatHasChangedFilesContinuesAlone(t *testing.T) {
	main := &continuation{state: &journal.State{Session: journal.Session{ID: "r/a"}, Messages: []journal.Message{{}, {Message: model.Message{Calls: []model.ToolCall{{Name: "task", Input: `{"prompt": "where", "subagent_type": "look"}`}}}}}}}
	child := func(parent string, entries ...journal.Entry) *journal.State {
		return &journal.State{Session: journal.Session{Parent: parent, Agent: "look"}, Messages: []journal.Message{{Message: model.Message{Role: model.User, Text: "where"}}}, History: entries}
	}
	edit, compacted := journal.Entry{Message: &journal.Message{Call: &event.Call{Tool: "edit"}}}, journal.Entry{Compaction: &journal.Compaction{}}
	for name, c := range map[string]struct {
		child, other *journal.State
		rebased      bool
		want         bool
	}{
		"alone":              {child("r/a", edit), nil, false, true},
		"after another":      {child("r/a", edit), child("r/a"), false, false},
		"after a reviewer":   {child("r/a", edit), child("", edit), false, true},
		"compacted":          {child("r/a", edit, compacted), nil, false, false},
		"rebased":            {child("r/a", edit), nil, true, false},
		"has only read":      {child("r/a", compacted), child("r/a"), true, true},
		"of another session": {child("r/b", edit), nil, false, false},
	} {
		kept := map[string]*continuation{}
		if c.other != nil {
			kept["other"] = &continuation{state: c.other}
		}
		if got := main.continues(c.child, kept, c.rebased); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
