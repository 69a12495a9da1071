package patterns

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPatches checks that any patch has a result, that it is the same each time, and that its
// texts are valid.
func FuzzPatches(f *testing.F) {
	f.Add(patchOf("a.go", "-\tos.WriteFile(n, b, 0644)\n+\tos.WriteFile(n, b, 0777) //nolint"), "")
	f.Add(patchOf("a_test.go", "-func TestA(t *testing.T) {\n-}\n+// \x1b[31m\xff"), patchOf("package.json", "+\"a\": \"^1\","))
	f.Add("diff --git \"a/\\377\" \"b/\\377\"\nold mode 100644\nnew mode 100755\nrename from a\nrename to b_test.go\n", "diff --git a/x b/x\nGIT binary patch\nliteral 1\n")
	f.Add("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-    '''\n+\t\"\n+/* \n\\ No newline\n", "@@ -1 +1 @@\n-a\n+b\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		all := []string{first, second, first + second, second}
		a, err := json.Marshal(collect(all...))
		if err != nil {
			t.Fatal(err)
		}
		r := collect(all...)
		if b, err := json.Marshal(r); err != nil || string(a) != string(b) {
			t.Fatalf("%v: two results differ\n%s\n%s", err, a, b)
		}
		for _, p := range r.Patterns {
			valid(t, p.Shape, p.Example.Diff, p.Example.Path)
			if len(p.Repositories) == 0 || len(p.Jobs) == 0 || p.Edits < len(p.Jobs) {
				t.Errorf("%+v", p)
			}
		}
		for _, g := range r.Reading {
			for _, reason := range g.Reasons {
				valid(t, reason.Detail, reason.Path)
				if reason.Kind.rank() < 0 {
					t.Errorf("unknown kind %s", reason.Kind)
				}
			}
		}
	})
}

func valid(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !utf8.ValidString(s) || len(s) > 20<<10 {
			t.Errorf("%d bytes: %q", len(s), strings.ToValidUTF8(s, "?"))
		}
	}
}
