package landing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeaksHaveLocations(t *testing.T) {
	leaks := []Leak{{path: "a", line: 3, kind: "key"}, {path: "b.bin", kind: "key, in its name"}}
	if got := leaks[0].String() + " " + leaks[1].String(); got != "a:3 (key) b.bin (key, in its name)" {
		t.Errorf("%q", got)
	}
	if diff := cmp.Diff([]string{"b.bin"}, Opaque(leaks)); diff != "" {
		t.Errorf("files without lines (-want +got):\n%s", diff)
	}
}
