package sarif_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report/sarif"
)

var update = flag.Bool("update", false, "regenerate the golden file")

// compiledSchema compiles the published schema of SARIF 2.1.0.
func compiledSchema(t *testing.T) *jsonschema.Schema {
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

func TestFindingsAreValidSARIF(t *testing.T) {
	r := reporttest.Reviewed(t, reporttest.Findings())
	text := reporttest.Render(t, sarif.Write, r)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiledSchema(t).Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	const golden = "testdata/findings.sarif"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
	if again := reporttest.Reviewed(t, map[string]string{"review": `{"findings": [{"path": "src/a b#1.go", "line": 90, "severity": "error", "rule": "sql injection", "message": "other words"}]}`}); !strings.Contains(text, fingerprint(t, reporttest.Render(t, sarif.Write, again))) {
		t.Error("a finding on another line in other words has another fingerprint")
	}
}

// TestResultsHaveATextAndAnAddress has a finding whose message is empty.
func TestResultsHaveATextAndAnAddress(t *testing.T) {
	text := reporttest.Render(t, sarif.Write, reporttest.Reviewed(t, map[string]string{"review": `{"findings": [{"path": "100%/a?b.go", "severity": "note", "rule": "dead-code", "message": ""}]}`}))
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
