package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPatchIsParsedWithItsLines(t *testing.T) {
	got, err := Parse(`cat <<'EOF'
*** Begin Patch
*** Add File: new dir/n.txt
+1
*** Update File: /abs/u
*** Move to: ../m
@@ class A
@@ def f
 a

-b
*** End of File

@@
+c
*** Delete File: d
*** Update File: ./u
 x
*** End Patch
EOF`)
	want := Patch{[]File{
		{Op: Add, Path: "new dir/n.txt", Content: "1\n", Line: 3},
		{Op: Update, Path: "/abs/u", MoveTo: "../m", Line: 5, Hunks: []Hunk{
			{Contexts: []string{"class A", "def f"}, Lines: []string{" a", "", "-b"}, AtEnd: true, Line: 7},
			{Lines: []string{"+c"}, Line: 14},
		}},
		{Op: Delete, Path: "d", Line: 16},
		{Op: Update, Path: "./u", Line: 17, Hunks: []Hunk{{Lines: []string{" x"}, Line: 18}}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestPathsNamesSourcesAndTargetsOnceEach(t *testing.T) {
	p, err := Parse("*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n*** Delete File: ../b\n*** Update File: a\n-x\n*** Add File: ./a\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "../b", "./a"}, p.Paths()); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefusesInvalidPaths(t *testing.T) {
	_, err := Parse("*** Begin Patch\n*** Delete File: " + strings.Repeat("x", maxPath+1) + "\n*** End Patch")
	if err == nil || !strings.Contains(err.Error(), "line 2 of the patch: path too long: 4097 bytes") {
		t.Error(err)
	}
}
