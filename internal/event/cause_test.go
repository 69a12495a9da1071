package event

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheSchemaListsTheReasonCodes(t *testing.T) {
	var schema struct {
		Defs struct {
			Job struct {
				Properties struct {
					ReasonCode struct{ Enum []Code } `json:"reason_code"`
				}
			}
			Outcome struct{ Enum []Outcome }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(read(t, "../../report/report.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	want := []Code{""}
	for _, c := range Causes() {
		if !c.Unnamed() {
			want = append(want, c.Code)
		}
		if !slices.Contains(schema.Defs.Outcome.Enum, c.Outcome) {
			t.Errorf("the schema lacks outcome %s of %s", c.Outcome, c.Code)
		}
	}
	if got := schema.Defs.Job.Properties.ReasonCode.Enum; !slices.Equal(got, want) {
		t.Errorf("the schema's reason codes are\n%q, want\n%q", got, want)
	}
}

func TestEveryCauseHasARowAndExitCode(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Causes() {
		exit := slices.IndexFunc(Exits(), func(e ExitDoc) bool { return e.Exit == c.Exit })
		if seen[c.Code] || c.Doc == "" || exit < 0 {
			t.Errorf("row %+v", c)
		}
		// A skipped job can have the exit code of what prevented it.
		if c.Outcome != Skipped && c.Exit != ExitUsage && c.Outcome != Error && c.Exit.OutcomeOf() != c.Outcome {
			t.Errorf("%s: outcome %s, but its exit code %d is that of %s", c.Code, c.Outcome, c.Exit, c.Exit.OutcomeOf())
		}
		seen[c.Code] = true
	}
}

func TestCodeEnd(t *testing.T) {
	for code, want := range map[Code]JobEnd{
		CodePush:          {Outcome: Publish, Reason: "why", Code: CodePush, ExitCode: ExitPublish},
		CodeFailed:        {Outcome: Failed, Reason: "why", ExitCode: ExitFailed}, // identified by its outcome
		CodeNeed:          {Outcome: Skipped, Reason: "why", Code: CodeNeed},
		"of_next_release": {Outcome: Failed, Reason: "why", Code: "of_next_release", ExitCode: ExitFailed},
	} {
		if got := code.End("why"); got.Outcome != want.Outcome || got.Reason != want.Reason || got.Code != want.Code || got.ExitCode != want.ExitCode || got.CostUSD == nil || *got.CostUSD != 0 {
			t.Errorf("%s: got %+v, want %+v", code, got, want)
		}
	}
}
