package journal

import (
	"strings"
	"testing"
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
