package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRemovedStatements has a statement that no test checks, and a condition of a case.
func TestRemovedStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package several times")
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"m.go":      "package m\n\nvar calls int\n\nfunc Abs(n int) int {\n\tcalls++\n\tswitch {\n\tcase n < 0:\n\t\tn = -n\n\t}\n\treturn n\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestAbs(t *testing.T) {\n\tif Abs(-1) != 1 {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := statements(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	got, dir := map[int]string{}, t.TempDir()
	for i, s := range all {
		caught, _, err := test(t.Context(), filepath.Join(dir, string(rune('a'+i))), ".", s, time.Minute)
		switch {
		case errors.Is(err, errInvalid):
			got[s.line] = "invalid"
		case err != nil:
			t.Fatal(err)
		case caught:
			got[s.line] = "caught"
		default:
			got[s.line] = "survived"
		}
	}
	if want := map[int]string{6: "survived", 7: "caught", 9: "caught", 11: "invalid"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
