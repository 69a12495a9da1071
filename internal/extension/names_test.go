package extension

import "testing"

// The names of a custom tool are taken as millhand's own are, whatever their case.
func TestNamesOfToolsThatAreTaken(t *testing.T) {
	c := Config{Custom: custom(t, "Deploy")}
	for name, want := range map[string]bool{"deploy": true, "read": true, "batch": true, "deploys": false} {
		if c.taken(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
