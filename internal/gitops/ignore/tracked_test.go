package ignore

import "testing"

func TestTrackedPathsAreFoundBelowTheirDirectories(t *testing.T) {
	all := NewTracked([]string{"a", "a-b/c", "a/b/c", "sub/vendor/x.go", "vendor"})
	for _, c := range []struct {
		within, path string
		has, below   bool
	}{
		{"", "a", true, true},
		{"", "a/b", false, true},
		{"", "a/b/", false, true},
		{"", "a-", false, false},
		{"", "a/b/c", true, false},
		{"", "vendor", true, false},
		{"", "z", false, false},
		{"sub", "vendor", false, true},
		{"sub", "vendor/x.go", true, false},
		{"sub", "a", false, false},
		{".", "vendor", true, false},
	} {
		set := all.Within(c.within)
		if set.Has(c.path) != c.has || set.Below(c.path) != c.below {
			t.Errorf("%q within %q: tracked %t, below %t", c.path, c.within, set.Has(c.path), set.Below(c.path))
		}
	}
	if (Tracked{}).Has("a") || (Tracked{}).Below("a") {
		t.Error("the empty set tracks a path")
	}
}
