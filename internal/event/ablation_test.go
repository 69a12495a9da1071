package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHunksInOneLine(t *testing.T) {
	yes, no := new(true), new(false)
	for want, h := range map[string]Hunks{
		"41 of 44 hunks needed; 2 by nothing; 1 not tried; 3 new tests, 3 fail without the change": {
			Needed: 41, Unneeded: 2, Untried: 1, Tests: []ProvedTest{{Added: true, FailsOnBase: yes}, {Added: true, FailsOnBase: yes}, {Added: true, FailsOnBase: yes}},
		},
		"1 of 1 hunk needed": {Needed: 1},
		"0 of 2 hunks needed; 2 by nothing; 2 new or changed tests, 1 fails without the change; 1 assertion deleted or replaced": {
			Unneeded: 2, Tests: []ProvedTest{{Added: true, FailsOnBase: yes}, {FailsOnBase: no}}, Assertions: []LostAssertion{{}},
		},
	} {
		if got := h.Line(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNotesAreWhatAReviewerLooksAt(t *testing.T) {
	h := Hunks{
		List: []Hunk{
			{Path: "a.go", Kind: "lines", Line: 3, Added: 2, State: "unneeded"},
			{Path: "a.go", Kind: "lines", Line: 9, State: "unneeded"},
			{Path: "b.go", Kind: "added", State: "unneeded"},
			{Path: "c.go", Kind: "lines", State: "needed", By: "tests"},
			{Path: "d.go", State: "untried"},
		},
		Tests:      []ProvedTest{{Path: "a_test.go", Name: "TestA", FailsOnBase: new(false)}, {Path: "b_test.go"}, {Path: "c_test.go", FailsOnBase: new(true)}},
		Assertions: []LostAssertion{{"a_test.go", "", 4, "x", ""}, {"a_test.go", "", 5, "y", "z"}},
		Flaky:      []string{"e2e"},
	}
	want := []Note{
		{"needed by nothing", "a.go:3-4"},
		{"needed by nothing", "a.go:9"},
		{"needed by nothing", "b.go (added)"},
		{"passes without the change", "a_test.go TestA"},
		{"assertion deleted", "a_test.go:4: x"},
		{"assertion replaced", "a_test.go:5: y -> z"},
		{"flaky, counts for nothing", "e2e"},
	}
	if diff := cmp.Diff(want, h.Notes()); diff != "" {
		t.Error(diff)
	}
	h.ProvesNone = true
	if h.Passing() != nil {
		t.Error("tests that have nothing to prove are named")
	}
}
