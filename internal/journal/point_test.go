package journal

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
)

// file writes a session: a prompt, a turn that changes files, one that does not, a compaction
// of the first turn, and a final response. The tree of turn 2 is saved late.
func file(t *testing.T, more func(*Writer)) *State {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, func() time.Time { return time.Unix(0, 0) }, func(line []byte) []byte { return line }, func(err error) { t.Error(err) })
	user := func(id, text string) {
		w.Message(Message{ID: id, Message: model.Message{Role: model.User, Text: text}})
	}
	response := func(id string, turn int, calls ...model.ToolCall) {
		w.Message(Message{ID: id, Turn: turn, Response: &event.Turn{Number: turn}, Message: model.Message{Role: model.Assistant, Text: id, Calls: calls}})
	}
	result := func(id string, turn int) {
		w.Message(Message{ID: id, Turn: turn, Message: model.Message{Role: model.ToolRole, CallID: "c", Text: "result " + id}})
	}
	call := model.ToolCall{ID: "c", Name: "bash"}
	w.Session(Session{ID: "r/a", Job: "a"})
	user("m1", "go")
	response("m2", 1, call)
	result("m3", 1)
	w.Turn(Turn{Number: 1, After: "m3", Tree: "t1"})
	response("m4", 2, call)
	result("m5", 2)
	response("m6", 3, call)
	w.Turn(Turn{Number: 2, After: "m5", Tree: "t2"})
	result("m7", 3)
	w.Turn(Turn{Number: 3, After: "m7"})
	w.Message(Message{ID: "m3", Message: model.Message{Role: model.ToolRole, CallID: "c", Text: "removed"}})
	w.Compaction(Compaction{From: "m2", To: "m5", By: Message{ID: "m9", Message: model.Message{Role: model.User, Text: "a summary"}}})
	response("m10", 5)
	w.Turn(Turn{Number: 5, After: "m10"})
	user("m11", "more")
	response("m12", 6, call)
	if more != nil {
		more(w)
	}
	s, torn, err := Read(&b)
	if err != nil || torn > 0 {
		t.Fatal(torn, err)
	}
	return s
}

func ids(s *State) string {
	var all []string
	for _, m := range s.Messages {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

func TestAPointHasTheMessagesUpToIt(t *testing.T) {
	s := file(t, nil)
	for _, c := range []struct {
		id, messages, tree, prompt string
		turn                       int
		done                       bool
	}{
		{id: "m1", prompt: "go"},
		{id: "m2", messages: "m1 m2 m3", tree: "t1", turn: 1},
		{id: "m3", messages: "m1 m2 m3", tree: "t1", turn: 1},
		{id: "m4", messages: "m1 m2 m3 m4 m5", tree: "t2", turn: 2},
		{id: "m7", messages: "m1 m2 m3 m4 m5 m6 m7", tree: "t2", turn: 3},
		{id: "m9", messages: "m1 m9 m6 m7", tree: "t2", turn: 3},
		{id: "m10", messages: "m1 m9 m6 m7 m10", tree: "t2", turn: 5, done: true},
		{id: "m11", messages: "m1 m9 m6 m7 m10", tree: "t2", turn: 5, prompt: "more", done: true},
	} {
		p, err := s.Point(c.id)
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		if got := ids(p.State); got != c.messages || p.Tree != c.tree || p.Turn != c.turn || p.Prompt != c.prompt || p.Done != c.done {
			t.Errorf("%s: messages %q, tree %q, turn %d, prompt %q, done %v", c.id, got, p.Tree, p.Turn, p.Prompt, p.Done)
		}
		again, _, err := Read(bytes.NewReader(written(t, p.State.History)))
		if err != nil || ids(again) != c.messages || again.Tree() != c.tree {
			t.Errorf("%s: a copy has the messages %q, %v", c.id, ids(again), err)
		}
	}
	if p, err := s.Point("m3"); err != nil || p.State.Messages[2].Text != "result m3" {
		t.Errorf("a result that was removed later is %q", p.State.Messages[2].Text)
	}
	if _, err := s.Point("m12"); !errors.Is(err, ErrIncomplete) {
		t.Errorf("a response whose calls have no results: %v", err)
	}
	for _, id := range []string{"", "m8"} {
		if _, err := s.Point(id); err == nil {
			t.Errorf("message %q was found", id)
		}
	}
	if diff := cmp.Diff(strings.Fields("m1 m2 m3 m4 m5 m6 m7 m9 m10 m11 m12"), s.MessageIDs()); diff != "" {
		t.Error(diff)
	}
}

// written returns a file with entries.
func written(t *testing.T, entries []Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, time.Now, func(line []byte) []byte { return line }, func(err error) { t.Error(err) })
	for _, e := range entries {
		w.Entry(e)
	}
	return b.Bytes()
}

func TestAfterTurnHasTheMessagesUpToIt(t *testing.T) {
	s := file(t, nil)
	if got := s.TurnNumbers(); !slices.Equal(got, []int{1, 2, 3, 5}) {
		t.Errorf("turns %v", got)
	}
	for n, want := range map[int]string{0: "", 1: "m1 m2 m3", 2: "m1 m2 m3 m4 m5", 5: "m1 m9 m6 m7 m10"} {
		if p, err := s.AfterTurn(n); err != nil || ids(p.State) != want || p.Turn != n {
			t.Errorf("turn %d: %q, %v", n, ids(p.State), err)
		}
	}
	if _, err := s.AfterTurn(4); err == nil {
		t.Error("turn 4 was found")
	}
}

// TestAResumeRestoresMessagesThatAnEarlierOneRemoved resumes after messages that are not in the conversation any more.
func TestAResumeRestoresMessagesThatAnEarlierOneRemoved(t *testing.T) {
	s := file(t, func(w *Writer) {
		w.Resume(Resume{After: "m3"}) // was compacted
		w.Message(Message{ID: "m13", Message: model.Message{Role: model.User, Text: "instead"}})
	})
	if got := ids(s); got != "m1 m2 m3 m13" || s.Tree() != "t1" {
		t.Errorf("messages %q, tree %q", got, s.Tree())
	}
	s = file(t, func(w *Writer) {
		w.Resume(Resume{After: "m3"})
		w.Resume(Resume{After: "m10"}) // was removed by the resume before
	})
	if got := ids(s); got != "m1 m9 m6 m7 m10" || s.Tree() != "t2" {
		t.Errorf("messages %q, tree %q", got, s.Tree())
	}
}

// TestTreeSurvivesCompaction resumes a session whose last turn with changes was compacted.
func TestTreeSurvivesCompaction(t *testing.T) {
	s := file(t, func(w *Writer) { w.Resume(Resume{After: "m10"}) })
	if s.Tree() != "t2" {
		t.Errorf("tree %q: the changes of the turn would be lost", s.Tree())
	}
}
