package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// TestReadFindsTheKind reads lines with their kind at the start, where a Writer writes it, and in
// other forms.
func TestReadFindsTheKind(t *testing.T) {
	s, torn, err := Read(strings.NewReader(strings.Join([]string{
		`{"type":"session","id":"r/a"}`,
		`{"type":"message","id":"m1","role":"user","text":"\"type\":\"turn\","}`,
		`{"id":"m2", "role":"assistant", "type":"message"}`,
		`{ "type" : "turn" , "number":1,"after":"m2"}`,
		`{"type":"turns","number":2}`,
		`{"type":"message"}`,
		``,
	}, "\n")))
	if err != nil || torn != 0 {
		t.Fatal(err, torn)
	}
	if len(s.Messages) != 3 || s.Messages[1].ID != "m2" || len(s.Turns) != 1 || s.Turns[0].After != "m2" || s.Session.ID != "r/a" {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{`{"type":"message",`, `{"type":"turn","number":"x"}`, `"type"`, ``} {
		if _, _, err := Read(strings.NewReader(bad + "\n")); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// A turn whose calls have changed files ends only if they were saved then or later.
func TestTurnsWithoutTheFilesOfTheirCallsAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		turns string // a word for each: its call, and its tree
		want  int
	}{
		"nothing":               {"", 0},
		"only read":             {"read read", 2},
		"saved":                 {"edit:a read edit:b read", 4},
		"never saved":           {"read edit read", 1},
		"saved later":           {"edit read:a", 2},
		"not saved at the end":  {"edit:a read edit read", 2},
		"saved again afterward": {"edit:a edit edit:b", 3},
	} {
		s := &State{Messages: []Message{{ID: "m0"}}}
		for i, turn := range strings.Fields(c.turns) {
			call, tree, _ := strings.Cut(turn, ":")
			id := fmt.Sprintf("m%d", i+1)
			s.Messages = append(s.Messages, Message{ID: id, Call: &event.Call{Tool: call}})
			s.Turns = append(s.Turns, Turn{Number: i + 1, After: id, Tree: tree})
		}
		s.DropUnsaved(func(tool string) bool { return tool == "edit" })
		if len(s.Turns) != c.want {
			t.Errorf("%s: %d turns, want %d", name, len(s.Turns), c.want)
		}
	}
}
