package linediff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff/lcs"
	"github.com/google/go-cmp/cmp"
)

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc")
	f.Add("", "x")
	f.Add(strings.Repeat("a\nb\nc\nd\n", 40), strings.Repeat("a\nc\nb\nd\n", 40))
	f.Add("x\r\ny\r\n\n", "x\ny\r\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
		checkDiffs(t, a, b, Compare(a, b))
	})
}

// checkDiffs checks that differences are ascending, and that the lines between them are equal.
func checkDiffs(t *testing.T, a, b []string, diffs []lcs.Diff) {
	t.Helper()
	atA, atB := 0, 0
	for _, d := range append(diffs, lcs.Diff{Start: len(a), End: len(a), ReplStart: len(b), ReplEnd: len(b)}) {
		if d.Start < atA || d.ReplStart < atB || !slices.Equal(a[atA:d.Start], b[atB:d.ReplStart]) {
			t.Fatalf("bad differences %v of %q and %q", diffs, a, b)
		}
		atA, atB = d.End, d.ReplEnd
	}
}

func TestDiffsOfScatteredChangesStaySmall(t *testing.T) {
	var a, b []string
	for i := range 5000 {
		line := fmt.Sprintf("line %d\n", i)
		a = append(a, line)
		if i%10 == 0 {
			line = fmt.Sprintf("changed %d\n", i)
		}
		b = append(b, line, "}\n")
		a = append(a, "}\n")
	}
	var removed int
	for _, d := range Compare(a, b) {
		removed += d.End - d.Start
	}
	if removed != 500 {
		t.Errorf("%d lines are replaced, want 500", removed)
	}
}

func TestDiffsOfVeryLongFilesAreOneHunk(t *testing.T) {
	a := slices.Repeat([]string{"x\n"}, maxLines+10)
	b := slices.Clone(a)
	b[3], b[len(b)-3] = "y\n", "y\n"
	want := []lcs.Diff{{Start: 3, End: len(a) - 2, ReplStart: 3, ReplEnd: len(a) - 2}}
	if diff := cmp.Diff(want, Compare(a, b)); diff != "" {
		t.Error(diff)
	}
}
