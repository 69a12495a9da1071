package trials

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestWhatIsUnneededIsReturned(t *testing.T) {
	h := &event.Hunks{
		List:  []event.Hunk{{Path: "a.go", Kind: "lines", Line: 3, Added: 2, State: "unneeded"}, {Path: "b.go", Kind: "added", State: "needed", By: "tests"}},
		Tests: []event.ProvedTest{{Path: "a_test.go", Name: "TestA", FailsOnBase: new(false)}},
	}
	if got := Feedback(h); !strings.Contains(got, `<unneeded at="a.go:3-4" added="2" removed="0" />`) || !strings.Contains(got, `<test path="a_test.go" name="TestA" />`) || strings.Contains(got, "b.go") {
		t.Error(got)
	}
	const text = "no verify command needs 1 hunk of the changes: a.go:3-4; 1 new test passes without the changes: a_test.go TestA"
	if end := Stop(h); end.Code != event.CodeUnneeded || end.Detail != text {
		t.Errorf("got %+v", end)
	}
}

func TestPromptsAndListsAreBounded(t *testing.T) {
	h := &event.Hunks{}
	for i := range maxEntries + 5 {
		h.List = append(h.List, event.Hunk{Path: fmt.Sprint(i), Kind: "added", State: "unneeded"})
	}
	if got := Feedback(h); strings.Count(got, "<unneeded") != mostReturned || !strings.Contains(got, fmt.Sprintf("(and %d more)", maxEntries+5-mostReturned)) {
		t.Error(got)
	}
	if more := cut(&h.List); more != 5 || len(h.List) != maxEntries {
		t.Errorf("%d entries, %d more", len(h.List), more)
	}
}

// A command is flaky if it both passed and failed on the same files.
func TestACommandThatPassedAndFailedDiffers(t *testing.T) {
	for want, all := range map[bool][][]bool{true: {{true, false}, {false, false, true}}, false: {{}, {true}, {true, true}, {false, false}}} {
		for _, results := range all {
			if got := differ(results); got != want {
				t.Errorf("%v: %v", results, got)
			}
		}
	}
}
