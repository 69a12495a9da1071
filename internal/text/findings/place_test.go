package findings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/text/unidiff"
)

const patch = "@@ -1,4 +1,5 @@\n package cart\n-var A = 1\n+var A = 2\n+}\n }\n // end\n@@ -20 +21,2 @@\n return\n+// more\n\\ No newline at end of file\n"

func TestFindingsArePlacedOnLinesOfTheDiff(t *testing.T) {
	file := strings.Split("package cart\nvar A = 2\n}\n}\n// end\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\nreturn\n// more", "\n")
	moved := append([]string{"// Copyright"}, file...)
	diffs := []Diff{{"old.go", "cart.go", unidiff.Shown(patch)}, {"b.png", "b.png", nil}}
	for name, tt := range map[string]struct {
		read     []string
		findings string // PATH:LINE of each
		want     string // PATH:OLD,NEW×FINDINGS of each spot; the others
	}{
		"an added line":                 {file, "cart.go:2", "cart.go:0,2×1;"},
		"an unchanged line":             {file, "cart.go:5", "cart.go:4,5×1;"},
		"another hunk":                  {file, "cart.go:22", "cart.go:0,22×1;"},
		"between hunks":                 {file, "cart.go:10", "; cart.go:10"},
		"two findings on a line":        {file, "cart.go:2 cart.go:2", "cart.go:0,2×2;"},
		"more findings than a line has": {file, "cart.go:2 cart.go:2 cart.go:2", "cart.go:0,2×2; cart.go:2"},
		"the file":                      {file, "cart.go:0", "; cart.go"},
		"after the end":                 {file, "cart.go:23 cart.go:9999999", "; cart.go:23 cart.go:9999999"},
		"the name before":               {file, "old.go:2", "; old.go:2"},
		"a file that was not changed":   {file, "other.go:2", "; other.go:2"},
		"a file without hunks":          {file, "b.png:1", "; b.png:1"},
		"no file":                       {file, ":0", ";"},
		"a file that can't be read":     {nil, "cart.go:2", "; cart.go:2"},
		"another commit":                {moved, "cart.go:3", "cart.go:0,2×1;"},
		"another commit, no such line":  {moved, "cart.go:1", "; cart.go:1"},
		"another commit, equal lines":   {moved, "cart.go:4 cart.go:5", "cart.go:3,4×1; cart.go:5"},
		"equal lines":                   {file, "cart.go:3 cart.go:4", "cart.go:0,3×1 cart.go:3,4×1;"},
	} {
		var r Review
		for f := range strings.FieldsSeq(tt.findings) {
			var line int
			path, number, _ := strings.Cut(f, ":")
			fmt.Sscan(number, &line)
			r.Findings = append(r.Findings, Finding{Path: path, Line: line})
		}
		spots, others := r.Place(diffs, func(string) []string { return tt.read }, 2)
		var got, rest []string
		for _, s := range spots {
			got = append(got, fmt.Sprintf("%s:%d,%d×%d", s.Path, s.Line.Old, s.Line.New, len(s.Findings)))
		}
		for _, f := range others {
			rest = append(rest, f.Location())
		}
		if diff := cmp.Diff(tt.want, strings.TrimSuffix(strings.Join(got, " ")+"; "+strings.Join(rest, " "), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestKeysOfLines has the same finding before and after other lines were added and a line like it.
func TestKeysOfLines(t *testing.T) {
	r := Review{Findings: []Finding{{Path: "a.go", Line: 2}}}
	key := func(path, patch string, read ...string) string {
		t.Helper()
		r.Findings[0].Path = path
		spots, others := r.Place([]Diff{{path, path, unidiff.Shown(patch)}}, func(string) []string { return read }, 9)
		if len(spots) != 1 {
			t.Fatalf("%v, %v", spots, others)
		}
		return spots[0].Key
	}
	first := key("a.go", "@@ -1 +1,2 @@\n one\n+two\n", "one", "two")
	for name, same := range map[string]string{
		"indented": key("a.go", "@@ -1 +1,2 @@\n one\n+\ttwo\n", "one", "\ttwo"),
		"moved":    key("a.go", "@@ -1 +1,3 @@\n+zero\n one\n+two\n", "one", "two"),
		"followed": key("a.go", "@@ -1 +1,3 @@\n one\n+two\n+two\n", "one", "two"),
	} {
		if same != first {
			t.Errorf("%s: %s, want %s", name, same, first)
		}
	}
	for name, other := range map[string]string{
		"renamed": key("b.go", "@@ -1 +1,2 @@\n one\n+two\n", "one", "two"),
		"changed": key("a.go", "@@ -1 +1,2 @@\n one\n+three\n", "one", "three"),
	} {
		if other == first {
			t.Errorf("%s: it has the same key", name)
		}
	}
}

// FuzzPlace checks that each finding is on one line or among the others, and that lines are in the diff.
func FuzzPlace(f *testing.F) {
	f.Add(patch, "package cart\nvar A = 2\n}\n", "a.go", 2)
	f.Fuzz(func(t *testing.T, patch, read, path string, line int) {
		r := Review{Findings: []Finding{{Path: path, Line: line}, {Path: "a.go", Line: line}, {Path: "a.go", Line: 1}}}
		diffs := []Diff{{"", "a.go", unidiff.Shown(patch)}}
		spots, others := r.Place(diffs, func(string) []string { return strings.Split(read, "\n") }, 1)
		n := len(others)
		for _, s := range spots {
			n += len(s.Findings)
			if !strings.Contains(patch, s.Line.Text) || len(s.Findings) > 1 {
				t.Errorf("%+v", s)
			}
		}
		if n != 3 {
			t.Errorf("%d findings on %d lines", n, len(spots))
		}
	})
}
