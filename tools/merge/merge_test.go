package merge

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzChange checks that the found lines stay if nothing changes, that kept lines
// keep their bytes, and that a change ends.
func FuzzChange(f *testing.F) {
	f.Add("\tif x\n\t\ty", "  if x\n    y", "  if x\n    z")
	f.Add("It’s\u00a0“x” – y…", `It's "x" - y...`, `It's "z" - y...`)
	f.Add("a\nb\nc", "a\nq\nr\nc", "a\nc")
	f.Add("\xff a\n b", "a\nb", "b")
	f.Fuzz(func(t *testing.T, found, old, new string) {
		have, want, next := strings.Split(found, "\n"), strings.Split(old, "\n"), strings.Split(new, "\n")
		m := NewMatch(have, want, next, 4)
		same, err := m.Change(0, len(want), want)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range same {
			if l.From != i || l.Text != have[i] {
				t.Fatalf("line %d of %q became %+v", i, have, l)
			}
		}
		if _, err := m.Change(0, len(want), next); err != nil {
			return
		}
		if text, err := Text(found, old, old, "\n", false); err != nil || text != found && old != "" {
			t.Fatalf("%q, %v", text, err)
		}
	})
}

// TestIndentationKeepsItsShape moves random blocks to the right and converts them
// to tabs, and asks for lines that are not in the block.
func TestIndentationKeepsItsShape(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		levels := []int{0, 1}
		for range r.IntN(4) {
			levels = append(levels, r.IntN(4))
		}
		depth, tabbed := r.IntN(4), r.IntN(2) == 0
		file := func(level int) string {
			if tabbed {
				return strings.Repeat("\t", depth+level)
			}
			return strings.Repeat("    ", depth+level)
		}
		var found, old []string
		for i, level := range levels {
			name := "line" + string(rune('a'+i))
			found = append(found, file(level)+name)
			old = append(old, strings.Repeat("    ", level)+name)
		}
		level := r.IntN(5)
		added := strings.Repeat("    ", level) + "new"
		new := slices.Insert(slices.Clone(old), 1, added)
		m := NewMatch(found, old, new, 4)
		lines, err := m.Change(0, len(old), new)
		if err != nil || lines[1].Text != file(level)+"new" {
			t.Fatalf("%q as %q: %+v, %v", found, old, lines, err)
		}
	}
}

func TestUnit(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a\n  b\n    c\n": 2, "a:\n    b\n    c\nd:\n    e\n        f(\n          g\n": 4, "\ta\n\t\tb\n": 0, "/*\n * a\n */\n": 0} {
		if got := Unit(text); got != want {
			t.Errorf("Unit(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestDifferencesAreNamed(t *testing.T) {
	tests := []struct{ found, old, want string }{
		{"\ta", "    a", "indentation"},
		{"a ", "a", "trailing whitespace"},
		{"a  b", "a b", "whitespace"},
		{"a\u00a0b", "a b", "non-breaking spaces"},
		{"“a” — it’s…", `"a" - it's...`, "quotes, dashes, ellipses"},
		{"  a\nx(1)", "a\nx(2)", "indentation, text"},
		{"a\nb", "a", "lines"},
	}
	for _, tt := range tests {
		if got := strings.Join(Differences(strings.Split(tt.found, "\n"), strings.Split(tt.old, "\n")), ", "); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.found, tt.old, got, tt.want)
		}
	}
}

func TestShowIsBrief(t *testing.T) {
	text := "a\nb\r\nc\n" + strings.Repeat("x\n", 20) + strings.Repeat("y", 300)
	for _, tt := range []struct {
		start, end int
		want       string
	}{
		{2, 3, "2: b\n"},
		{3, 6, "2: b\n3: c\n"},
		{2, 7, "2: b\n3: c\n"},
		{7, 47, "4: x\n" + "5: x\n6: x\n7: x\n8: x\n9: x\n10: x\n11: x\n12: x\n13: x\n14: x\n15: x\n... (8 more)\n"},
		{len(text), len(text), "24: " + strings.Repeat("y", 160) + "...\n"},
	} {
		if got := Show(text, tt.start, tt.end); got != tt.want {
			t.Errorf("%d to %d: %q, want %q", tt.start, tt.end, got, tt.want)
		}
	}
}
