package report_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// sarifSchema compiles the published schema of SARIF 2.1.0.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func reviewed(t *testing.T, outputs map[string]string) *report.Report {
	t.Helper()
	run := &event.Run{ID: "r", Version: "1.0.0", Jobs: []event.PlannedJob{
		{ID: "review", Findings: true, Location: "https://user:secret@git.example.com/shop ref=main"}, {ID: "clean", Findings: true, Location: "/src/shop"}, {ID: "failed", Findings: true}, {ID: "other"},
	}}
	events := []event.Event{{Type: event.RunStarted, Run: run}}
	for _, j := range run.Jobs {
		end := event.JobEnd{Outcome: event.Passed, Output: json.RawMessage(outputs[j.ID])}
		if outputs[j.ID] == "" {
			end = event.JobEnd{Outcome: event.Failed, Reason: "denied"}
		}
		events = append(events, event.Event{Type: event.JobStarted, Job: j.ID, JobStart: &event.JobStart{Base: "0c9d"}}, reporttest.JobEnded(j.ID, end))
	}
	return reporttest.Fold(t, events...)
}

func TestSARIF(t *testing.T) {
	r := reviewed(t, map[string]string{
		"review": `{"summary": "s <b>", "findings": [
			{"path": "src/a b#1.go", "line": 7, "severity": "error", "rule": "SQL injection", "message": "m | \u202e [x](y)", "suggestion": "use ?"},
			{"path": "src/a b#1.go", "line": 9, "severity": "error", "rule": "sql-injection", "message": "again", "suggestion": ""},
			{"path": "/etc/passwd", "line": 1, "severity": "note", "rule": "x", "message": "elsewhere", "suggestion": ""}]}`,
		"clean": `{"summary": "Nothing.", "findings": []}`,
		"other": `{"summary": "no review", "findings": [{"path": "x"}]}`,
	})
	text := reporttest.Render(t, report.SARIF, r)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := sarifSchema(t).Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	golden(t, "testdata/findings.sarif", text)
	golden(t, "testdata/findings.summary", reporttest.Render(t, report.Markdown, r))
	validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
	if other := reviewed(t, nil); r.Jobs[0].Review == nil || r.Jobs[3].Review != nil || !r.HasFindings() || other.HasFindings() {
		t.Error("which jobs have findings is wrong")
	}
	if again := reviewed(t, map[string]string{"review": `{"findings": [{"path": "src/a b#1.go", "line": 90, "severity": "error", "rule": "sql injection", "message": "other words"}]}`}); !strings.Contains(text, fingerprint(t, reporttest.Render(t, report.SARIF, again))) {
		t.Error("a finding on another line in other words has another fingerprint")
	}
}

// TestResultsHaveATextAndAnAddress has a finding whose message is empty.
func TestResultsHaveATextAndAnAddress(t *testing.T) {
	text := reporttest.Render(t, report.SARIF, reviewed(t, map[string]string{"review": `{"findings": [{"path": "100%/a?b.go", "severity": "note", "rule": "dead-code", "message": ""}]}`}))
	for _, want := range []string{`"text": "dead-code"`, `"uri": "100%25/a%3Fb.go"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s not found in %s", want, text)
		}
	}
}

func fingerprint(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `"millhandFinding/v1": "`)
	if !ok {
		t.Fatal("no fingerprint found")
	}
	print, _, _ := strings.Cut(rest, `"`)
	return print
}
