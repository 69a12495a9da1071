package ablation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLostAssertionsAreListed(t *testing.T) {
	c := Read([]File{
		{"test_a.py", text("def test_x():\n  assert f() == 1\n  assert g()\n  assert h()\n"), text("def test_x():\n  assert f()\n  x = 1\n  assert h()\n")},
		{"test_b.py", text("assert moved\n"), Content{}},
		{"test_c.py", Content{}, text("  assert moved\n")},
		{"a.py", text("assert code\n"), text("\n")},
	})
	want := []Loss{{"test_a.py", 2, "assert f() == 1", "assert f()"}, {"test_a.py", 3, "assert g()", ""}}
	if diff := cmp.Diff(want, c.Losses()); diff != "" {
		t.Error(diff)
	}
}
