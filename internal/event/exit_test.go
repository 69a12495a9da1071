package event

import (
	"slices"
	"testing"
)

func TestWorst(t *testing.T) {
	tests := []struct {
		name  string
		codes []Exit
		want  Exit
	}{
		{"no jobs", nil, ExitOK},
		{"all went well", []Exit{ExitOK, ExitOK}, ExitOK},
		{"one failed", []Exit{ExitOK, ExitFailed, ExitOK}, ExitFailed},
		{"a fault of millhand above all but a signal", []Exit{ExitFailed, ExitPolicy, ExitInternal}, ExitInternal},
		{"a signal", []Exit{ExitInternal, ExitInterrupt}, ExitInterrupt},
		{"a code outside of the order is not forgotten", []Exit{ExitOK, ExitUsage}, ExitUsage},
		{"nor before one in it", []Exit{ExitUsage, ExitFailed}, ExitFailed},
	}
	for _, tt := range tests {
		if got := Worst(tt.codes); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// The order is a promise to users' scripts: of any two codes that occurred the
// one that stands first here is the run's, whichever job came first.
func TestTheOrderOfExitCodes(t *testing.T) {
	order := []Exit{70, 3, 6, 5, 75, 124, 4, 7, 1, 0}
	for i, worse := range order {
		for _, better := range order[i:] {
			for _, codes := range [][]Exit{{worse, better}, {better, worse}, {0, better, worse, 0}} {
				if got := Worst(codes); got != worse {
					t.Errorf("Worst(%d) = %d, want %d", codes, got, worse)
				}
			}
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	want := map[Exit]Outcome{
		0: Passed, 1: Failed, 2: Error, 3: Policy, 4: Limit, 5: Budget, 6: Provider, 7: Publish, 70: Error, 75: Provider, 124: Limit, 130: Cancelled, 143: Cancelled, 99: Error,
	}
	for code, outcome := range want {
		if got := code.OutcomeOf(); got != outcome {
			t.Errorf("%d: got %s, want %s", code, got, outcome)
		}
	}
	for _, code := range severity() {
		if _, ok := want[code]; !ok || code.OutcomeOf() == Passed {
			t.Errorf("%d is unexpected", code)
		}
	}
	if !slices.Contains(severity(), ExitFailed) {
		t.Error("a failed job has no outcome")
	}
}
