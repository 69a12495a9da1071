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
	want := []Loss{{"test_a.py", "weaker", 2, "assert f() == 1", "assert f()"}, {"test_a.py", "deleted", 3, "assert g()", ""}}
	if diff := cmp.Diff(want, c.Losses()); diff != "" {
		t.Error(diff)
	}
}

func TestLostTestsAreListed(t *testing.T) {
	const two = "package a\n\nfunc TestA(t *testing.T) {\n\tcheck(t)\n}\n\nfunc TestB(t *testing.T) {\n\tcheck(t)\n}\n"
	for name, c := range map[string]struct {
		files []File
		want  []Loss
	}{
		"deleted":              {[]File{{"a_test.go", text(two), text("package a\n\nfunc TestA(t *testing.T) {\n\tcheck(t)\n}\n")}}, []Loss{{"a_test.go", TestDeleted, 7, "TestB", ""}}},
		"a file":               {[]File{{"a_test.go", text(two), Content{}}}, []Loss{{"a_test.go", TestDeleted, 3, "TestA", ""}, {"a_test.go", TestDeleted, 7, "TestB", ""}}},
		"renamed":              {[]File{{"test_a.py", text("def test_a():\n  pass\n"), text("def test_b():\n  pass\n")}}, []Loss{{"test_a.py", TestReplaced, 1, "test_a", "test_b"}}},
		"renamed to no test":   {[]File{{"test_a.py", text("def test_a():\n  pass\n"), text("def xtest_a():\n  pass\n")}}, []Loss{{"test_a.py", TestDeleted, 1, "test_a", ""}}},
		"moved":                {[]File{{"a_test.go", text(two), text("package a\n\nfunc TestA(t *testing.T) {\n\tcheck(t)\n}\n")}, {"b_test.go", Content{}, text("package a\n\nfunc TestB(t *testing.T) {\n\tcheck(t)\n}\n")}}, nil},
		"skipped":              {[]File{{"a_test.go", text("package a\n\nfunc TestA(t *testing.T) {\n}\n"), text("package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip()\n}\n")}}, []Loss{{"a_test.go", TestSkipped, 4, "", "t.Skip()"}}},
		"skipped in a new one": {[]File{{"a_test.go", Content{}, text("package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip()\n}\n")}}, nil},
		"only printed":         {[]File{{"a_test.go", text("  t.Error(got)\n"), text("  t.Log(got)\n")}}, []Loss{{"a_test.go", "logged", 1, "t.Error(got)", "t.Log(got)"}}},
		"commented":            {[]File{{"a_test.js", text("  expect(a).toBe(1);\n"), text("  // expect(a).toBe(1);\n")}}, []Loss{{"a_test.js", "commented", 1, "expect(a).toBe(1);", "// expect(a).toBe(1);"}}},
		"ignored":              {[]File{{"Makefile", text("test:\n\tpytest\n"), text("test:\n\tpytest || true\n")}}, []Loss{{"Makefile", ExitIgnored, 2, "", "pytest || true"}}},
		"code":                 {[]File{{"a.go", text("t.Error(got)\nt.Skip()\n"), text("t.Log(got)\n")}}, nil},
	} {
		if diff := cmp.Diff(c.want, Read(c.files).Losses()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
