package action_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

// TestAnnotationsOfFindings has more findings without a file than GitHub shows annotations.
func TestAnnotationsOfFindings(t *testing.T) {
	var list []string
	for i := range 15 {
		list = append(list, `{"path": "", "line": 0, "severity": "error", "rule": "x", "message": "m"}`,
			fmt.Sprintf(`{"path": "a.go", "line": %d, "severity": "error", "rule": "x", "message": "m", "suggestion": "s"}`, i+1))
	}
	var f report.Fold
	s := event.NewStream(time.Now, &f)
	s.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "review", Findings: true, Location: "/repo"}}}})
	s.Emit(event.Event{Type: event.JobEnded, Job: "review", JobEnd: &event.JobEnd{Outcome: event.Passed, Output: json.RawMessage(`{"findings": [` + strings.Join(list, ",") + `]}`)}})
	got := action.Findings(f.Report(), action.Checkout{Repository: "/repo", Dir: "/repo"})
	want := action.Annotation{Level: "error", Title: "x", Location: action.Location{File: "a.go", Line: 1}, Message: "m\nSuggestion: s"}
	if len(got) != 10 || got[0] != want {
		t.Errorf("%d annotations: %+v", len(got), got)
	}
	if got := action.Findings(f.Report(), action.Checkout{Repository: "/other", Dir: "/other"}); len(got) != 0 {
		t.Errorf("annotations in another repository: %+v", got)
	}
}
