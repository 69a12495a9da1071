package patterns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/text/unidiff"
)

// recorded is a visitor that writes down what it receives.
type recorded struct{ strings.Builder }

func (r *recorded) begin(f *unidiff.File) {
	fmt.Fprintf(r, "file %s", f.Path)
	if f.Old != f.Path {
		fmt.Fprintf(r, " from %s", f.Old)
	}
	if f.OldMode+f.Mode != "" {
		fmt.Fprintf(r, " mode %s>%s", f.OldMode, f.Mode)
	}
	fmt.Fprintf(r, " %v %v %v\n", f.Created, f.Deleted, f.Binary)
}
func (r *recorded) context(_ *unidiff.File, line string) { fmt.Fprintf(r, "= %.20s\n", line) }
func (r *recorded) block(b *block)                       { fmt.Fprintf(r, "%d -%.20q +%.20q\n", b.line, b.old, b.new) }
func (r *recorded) end(*unidiff.File)                    { r.WriteString("end\n") }
func (r *recorded) unread(_ *unidiff.File, line int, what string) {
	fmt.Fprintf(r, "unread %d %s\n", line, what)
}

func TestPatchesAreReadInBlocks(t *testing.T) {
	for name, tt := range map[string]struct{ patch, want string }{
		"blocks": {
			"diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@ x\n-one\n+ONE\n two\n--- three\n+++ THREE\n four\n",
			"file a false false false\n1 -[\"one\"] +[\"ONE\"]\n= two\n3 -[\"-- three\"] +[\"++ THREE\"]\n= four\nend\n",
		},
		"rename and mode": {
			"diff --git a/a b b/c d\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from a b\nrename to c d\n",
			"file c d from a b mode 100644>100755 false false false\nend\n",
		},
		"quoted": {
			"diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
			"file ä mode >100644 true false false\n1 -[] +[\"x\"]\nend\n",
		},
		"binary": {
			"diff --git a/a b/a\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZ\n\ndiff --git a/b b/b\ndeleted file mode 100644\n",
			"file a false false true\nend\nfile b mode 100644> false true false\nend\n",
		},
		"incomplete":      {"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n-one\n", "file a false false false\nunread 1 an incomplete patch\n1 -[\"one\"] +[]\nend\n"},
		"invalid":         {"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n-one\n*\n", "file a false false false\nunread 1 an invalid patch\n1 -[\"one\"] +[]\nend\n"},
		"negative length": {"diff --git a/a b/a\n@@ -1,-4 +-1,99999999999999999999 @@\n+one\n", "file a false false false\nunread 1 an incomplete patch\n0 -[] +[\"one\"]\nend\n"},
		"no patch":        {"Hello\n@@ -1 +1 @@\n-a\n+b\n", ""},
	} {
		r := &recorded{}
		if err := read(strings.NewReader(tt.patch), newLines(), r); err != nil || r.String() != tt.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, r, tt.want)
		}
	}
}

func TestLongLinesAreReported(t *testing.T) {
	r := &recorded{}
	long := strings.Repeat("x", maxLine+10)
	if err := read(strings.NewReader("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-"+long+"\n+short\n"), newLines(), r); err != nil {
		t.Fatal(err)
	}
	if got := r.String(); !strings.Contains(got, "unread 0 a line of more than 64 KiB\n") || !strings.Contains(got, `+["short"]`) {
		t.Error(got)
	}
}

func TestLongPatchesAreReported(t *testing.T) {
	r := &recorded{}
	if err := read(strings.NewReader("diff --git a/a b/a\nGIT binary patch\n"+strings.Repeat("zabcdefgh\n", maxPatch/10)), newLines(), r); err != nil {
		t.Fatal(err)
	}
	if got := r.String(); !strings.HasSuffix(got, "unread 0 a patch of more than 16 MiB\nend\n") {
		t.Error(got)
	}
}
