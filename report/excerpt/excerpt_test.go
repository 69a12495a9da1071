package excerpt

import "testing"

func TestTruncationKeepsCharacters(t *testing.T) {
	if got, want := Head("aéé", 4), "aé… (2 more bytes in report.json)"; got != want {
		t.Errorf("Head: %s, want %s", got, want)
	}
	if got, want := Tail("ééa", 4), "(2 bytes before this in report.json) …éa"; got != want {
		t.Errorf("Tail: %s, want %s", got, want)
	}
	if got := Head("éé", 4) + Tail("éé", 4); got != "éééé" {
		t.Errorf("a text that fits was cut: %s", got)
	}
}
