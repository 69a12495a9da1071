package problem

import (
	"strings"
	"testing"
)

func TestProblemsAreReportedOnceInTheOrderOfTheirPositions(t *testing.T) {
	found := NewCollector()
	f := File{Name: "m.yaml", Found: found, Lines: []string{"a: 1", "b: 2"}}
	f.Report(2, 4, "wrong b", "write 3")
	f.Report(1, 4, "wrong a", "")
	f.Report(2, 4, "wrong b", "write 3")
	if got, want := found.Err().Error(), "m.yaml:1:4: wrong a\nm.yaml:2:4: wrong b; write 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if found.Reported != 3 {
		t.Errorf("%d were reported", found.Reported)
	}
	if got := found.List[0].Source(); got != "a: 1\nb: 2" {
		t.Errorf("source %q", got)
	}
}

func TestAFixNamesTheMostSimilarKnownName(t *testing.T) {
	known := []string{"setup", "verify", "limits"}
	for _, tt := range []struct{ name, want string }{
		{"verfy", `did you mean "verify"?`},
		{"LIMITS", `did you mean "limits"?`},
		{"x", "known: setup, verify, limits"},
		{"completely", "known: setup, verify, limits"},
	} {
		if got := NewCollector().Suggest(tt.name, known, "known: "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := NewCollector().Suggest("x", nil, "known: "); got != "none are defined" {
		t.Errorf("without names: %q", got)
	}
}

func TestQuotedTextsAreOneShortLine(t *testing.T) {
	if got := Quote("a\n\x1b" + strings.Repeat("é", 100)); got != `"a\n\x1b`+strings.Repeat("é", 57)+`..."` {
		t.Errorf("got %s", got)
	}
}
