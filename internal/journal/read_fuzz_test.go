package journal

import (
	"bytes"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
)

// FuzzRead reads damaged files. A session never continues from a state that is missing.
func FuzzRead(f *testing.F) {
	var file bytes.Buffer
	w := NewWriter(&file, func() time.Time { return time.Unix(0, 0) }, func(line []byte) []byte { return line }, func(err error) { f.Error(err) })
	w.Session(Session{ID: "r/a", Job: "a", System: "Be brief."})
	w.Message(Message{ID: "m1", Message: model.Message{Role: model.User, Text: "go"}})
	w.Message(Message{ID: "m2", Turn: 1, Response: &event.Turn{Number: 1}, Message: model.Message{Role: model.Assistant, Calls: []model.ToolCall{{ID: "c", Name: "read"}}}})
	w.Message(Message{ID: "m3", Turn: 1, Message: model.Message{Role: model.ToolRole, CallID: "c", Text: "text"}})
	w.Turn(Turn{Number: 1, After: "m3", Tree: "t1"})
	w.Compaction(Compaction{From: "m1", To: "m2", By: Message{ID: "m4", Message: model.Message{Role: model.User, Text: "a summary"}}})
	w.Resume(Resume{After: "m3"})
	f.Add(file.Bytes(), true)
	f.Add([]byte(`{"type":"compaction","from":"m2","to":"m1"}`+"\n"), false)
	f.Add([]byte(`{"type":"turn","after":"m9","tree":"t"}`+"\n"+`{"type":"message","role":"user"`), true)
	f.Fuzz(func(t *testing.T, data []byte, exists bool) {
		state, torn, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if torn > len(data) || bytes.ContainsRune(data[len(data)-torn:], '\n') {
			t.Errorf("%d bytes torn", torn)
		}
		before := len(state.Messages)
		if err := state.Resume(func(string) bool { return exists }); err != nil {
			return
		}
		if len(state.Messages) > before {
			t.Error("a message was added")
		}
		if !exists && state.Tree() != "" {
			t.Errorf("tree %s is missing", state.Tree())
		}
	})
}
