package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// Only values whose shape is not millhand's to know are open.
func TestSchemaRejectsInvalidReports(t *testing.T) {
	schema := compileSchema(t)
	text := reporttest.Render(t, report.JSON, reporttest.Load(t, reporttest.Streams(t, "testdata")["passed"]))
	for name, c := range map[string]struct {
		old, new string
		valid    bool
	}{
		"the report itself":            {`"jobs": [`, `"jobs": [`, true},
		"any matrix value":             {`"matrix": {}`, `"matrix": {"x": "y"}`, true},
		"any output":                   {`"fixed": true`, `"fixed": {"deep": [1]}`, true},
		"any input":                    {`{"filePath": "cart.go"}`, `17`, true},
		"a matrix value of other type": {`"matrix": {}`, `"matrix": {"x": 1}`, false},
		"why a sandbox is weaker":      {`"pid": true`, `"pid": true, "reason": "no user namespaces"`, true},
		"an unknown field of the run":  {`"plan_hash":`, `"x": 1, "plan_hash":`, false},
		"an unknown field of a call":   {`"tool": "grep"`, `"tool": "grep", "x": 1`, false},
		"a missing field":              {`"plan_hash": "9b1c6d04",`, ``, false},
		"a null list":                  {`"denied": []`, `"denied": null`, false},
		"a null where a text belongs":  {`"reason": ""`, `"reason": null`, false},
		"an unknown outcome":           {`"outcome": "passed"`, `"outcome": "great"`, false},
		"a call under way":             {`"status": "completed"`, `"status": "running"`, false},
		"a time without milliseconds":  {`00.125Z`, `00Z`, false},
		"a cost as text":               {`"cost_usd": 0.0046`, `"cost_usd": "0.0046"`, false},
		"another version":              {`"schema_version": 1`, `"schema_version": 2`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(text, c.old) {
				t.Fatalf("the report does not hold %s", c.old)
			}
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.ReplaceAll(text, c.old, c.new)))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); (err == nil) != c.valid {
				t.Errorf("valid is %v, want %v: %v", err == nil, c.valid, err)
			}
		})
	}
}

func TestReportRoundTrip(t *testing.T) {
	for name, stream := range reporttest.Streams(t, "testdata") {
		want := reporttest.Render(t, report.JSON, reporttest.Load(t, stream))
		var r report.Report
		if err := json.Unmarshal([]byte(want), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, reporttest.Render(t, report.JSON, &r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReviewsFitTheSchema(t *testing.T) {
	r := reporttest.Reviewed(t, reporttest.Findings())
	validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
	if other := reporttest.Reviewed(t, nil); r.Jobs[0].Findings() == nil || r.Jobs[3].Findings() != nil || !r.HasFindings() || other.HasFindings() {
		t.Error("which jobs have findings is wrong")
	}
}
