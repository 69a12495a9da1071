package corpus

import "testing"

func TestListHasNoDuplicates(t *testing.T) {
	seen, total := map[string]bool{}, 0
	for group, attacks := range groups(list) {
		if len(attacks) == 0 {
			t.Errorf("%s is empty", group)
		}
		for _, a := range attacks {
			if key := group + ": " + a; seen[key] {
				t.Errorf("twice: %s", key)
			} else {
				seen[key] = true
			}
			total++
		}
	}
	if total < 200 {
		t.Errorf("only %d attacks", total)
	}
}
