package oracle

import (
	"slices"
	"testing"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"ls", []string{"ls"}},
		{"a b && c || d; e | f & g", []string{"a b", "c", "d", "e", "f", "g"}},
		{`a "x; $(b c)" 'y | z' \; q`, []string{`a "x; $(b c)" 'y | z' \; q`, "b c"}},
		{"a > f 2>&1 && b", []string{"a > f 2>&1", "b"}},
		{"(a; b) | c `d`", []string{"a", "b", "c `d`", "d"}},
		{"X=1 a", []string{"X=1 a"}},
		{"X=1", nil},
		{"X=$(a)", []string{"a"}},
		{"", nil},
	}
	for _, tt := range tests {
		if got := commands(tt.line); !slices.Equal(got, tt.want) {
			t.Errorf("commands(%q) = %q, want %q", tt.line, got, tt.want)
		}
	}
}
