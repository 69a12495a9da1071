package unidiff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShownLinesHaveTheNumbersOfBothFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		hunks string
		want  string // OLD,NEW:TEXT of each line
	}{
		"added, removed and unchanged lines": {"@@ -1,3 +1,3 @@ func a\n one\n-two\n+2\n three\n", "1,1:one 0,2:2 3,3:three"},
		"several hunks":                      {"@@ -1 +1,2 @@\n a\n+b\n@@ -9,2 +10,2 @@\n c\n d\n", "1,1:a 0,2:b 9,10:c 10,11:d"},
		"a new file":                         {"@@ -0,0 +1,2 @@\n+a\n+b\n", "0,1:a 0,2:b"},
		"a deleted file":                     {"@@ -1,2 +0,0 @@\n-a\n-b\n", ""},
		"no line break at the end":           {"@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file", "0,1:a 0,2:b"},
		"no line break before another hunk":  {"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n@@ -5 +5 @@\n c\n", "0,1:b 5,5:c"},
		"lines like heads":                   {"@@ -1,2 +1,3 @@\n---- a/x\n+++ b/x\n+@@ -1 +1 @@\n x\n", "0,1:++ b/x 0,2:@@ -1 +1 @@ 2,3:x"},
		"an empty unchanged line":            {"@@ -1,2 +1,2 @@\n\n a\n", "1,1: 2,2:a"},
		"carriage returns":                   {"@@ -1 +1 @@\n a\r\n", "1,1:a\r"},
		"cut off":                            {"@@ -1,9 +1,9 @@\n a\n+b", "1,1:a 0,2:b"},
		"more lines than the head has":       {"@@ -1 +1 @@\n a\n b\n@@ -7 +7 @@\n c\n", "1,1:a"},
		"no diff":                            {"Binary files differ\n", ""},
		"impossible numbers":                 {"@@ -x,y +-4,-5 @@\n a\n", ""},
	} {
		var got []string
		for _, l := range Shown(tt.hunks) {
			got = append(got, fmt.Sprintf("%d,%d:%s", l.Old, l.New, l.Text))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

const renamed = `diff --git a/old name.txt b/new name.txt
similarity index 90%
rename from old name.txt
rename to new name.txt
--- a/old name.txt	
+++ b/new name.txt	
@@ -1 +1,2 @@
 a
+diff --git a/not b/not
`

func TestADiffIsSplitByItsFiles(t *testing.T) {
	got := Split("mail\n" + renamed + `diff --git "a/caf\303\251" "b/caf\303\251"
new file mode 100755
--- /dev/null
+++ "b/caf\303\251"
@@ -0,0 +1 @@
+x
\ No newline at end of file
diff --git a/x.png b/x.png
Binary files a/x.png and b/x.png differ
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
`)
	want := []Section{
		{&File{Old: "old name.txt", Path: "new name.txt"}, "@@ -1 +1,2 @@\n a\n+diff --git a/not b/not\n"},
		{&File{Old: "café", Path: "café", Mode: "100755", Created: true}, "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
		{&File{Old: "x.png", Path: "x.png", Binary: true}, ""},
		{&File{Old: "gone", Path: "gone", OldMode: "100644", Deleted: true}, "@@ -1 +0,0 @@\n-x\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzShown checks that the numbers of lines increase, and that only lines of the text are returned.
func FuzzShown(f *testing.F) {
	f.Add(renamed)
	f.Add("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -1,3 +1,3 @@\n a\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Split(text) {
			if !strings.Contains(text, s.Hunks) {
				t.Errorf("%q is not in the text", s.Hunks)
			}
			lines := Shown(s.Hunks)
			if len(lines) > strings.Count(text, "\n")+1 {
				t.Errorf("%d lines of %q", len(lines), text)
			}
			for _, l := range lines {
				if l.New < 0 || l.Old < 0 || !strings.Contains(text, l.Text) {
					t.Errorf("line %+v of %q", l, text)
				}
			}
		}
	})
}
