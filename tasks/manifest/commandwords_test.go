package manifest

import (
	"strings"
	"testing"
)

func TestExpandCommand(t *testing.T) {
	for _, tt := range []struct{ body, arguments, want string }{
		{"Test $ARGUMENTS now.", "a  b 'c d'", "Test a  b 'c d' now."},
		{"$1 and $2", "a b c d", "a and b c d"},
		{"$2 and $1", `"a b" c`, "c and a b"},
		{"$1, $3", "a", "a, "},
		{"$10", "1 2 3", ""},
		{"Test all.", "a b", "Test all.\n\na b"},
		{"Test all.", "", "Test all."},
		{"$ARGUMENTS_OF", "x", "$ARGUMENTS_OF\n\nx"},
		{"costs $0 or $5", "a", "costs $0 or "},
		{"${{ secrets.X }} $1", "a", "$${{ secrets.X }} a"},
		{"$1|$2", "${{ matrix.a b }} 'x y'z", "${{ matrix.a b }}|x yz"},
		{"$1", `it's open`, "its open"},
	} {
		if got := expandCommand(tt.body, tt.arguments); got != tt.want {
			t.Errorf("%q with %q: %q, want %q", tt.body, tt.arguments, got, tt.want)
		}
	}
}

// Arguments are words whatever their bytes are.
func FuzzCommandWords(f *testing.F) {
	f.Add(`a "b c" ${{ matrix.x }}'d'`)
	f.Add("${{ é \xff\t")
	f.Fuzz(func(t *testing.T, arguments string) {
		words := commandWords(arguments)
		for _, r := range "\"' \t\n" {
			arguments = strings.ReplaceAll(arguments, string(r), "")
		}
		got := strings.NewReplacer("\"", "", "'", "", " ", "", "\t", "", "\n", "").Replace(strings.Join(words, ""))
		if strings.NewReplacer("\r", "", "\v", "", "\f", "").Replace(got) != strings.NewReplacer("\r", "", "\v", "", "\f", "").Replace(arguments) {
			t.Errorf("%q of %q", got, arguments)
		}
	})
}
