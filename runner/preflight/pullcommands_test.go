package preflight

import (
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestChangedProgram(t *testing.T) {
	changed := []string{"guard.sh", "tools/lint/main.js", "docs/a b.md"}
	for _, tt := range []struct {
		command []string
		below   string
		want    string
	}{
		{[]string{"bash", "-c", "sh ./guard.sh --fast"}, "", "guard.sh"},
		{[]string{"bash", "-c", "CHECK=1 && 'guard.sh'"}, "", "guard.sh"},
		{[]string{"./guard.sh"}, "", "guard.sh"},
		{[]string{"node", "tools/lint"}, "", "tools/lint/main.js"},
		{[]string{"node", "tools/lint/../lint/main.js"}, "", "tools/lint/main.js"},
		{[]string{"node", "lint/main.js"}, "tools", "tools/lint/main.js"},
		{[]string{"node", "main.js"}, "", ""},
		{[]string{"go", "vet", "./..."}, "", ""},
		{[]string{"lint", "."}, "", ""},
		{[]string{"/usr/bin/guard.sh", "-x", "guard.sh.old"}, "", ""},
		{[]string{"sh", "../guard.sh"}, "", ""},
	} {
		got, by := changedProgram([]tasks.Program{{Name: "other", Command: []string{"true"}}, {Name: "hook", Command: tt.command}}, tt.below, changed)
		if got != tt.want || (by == "hook") != (tt.want != "") {
			t.Errorf("%q in %q: %q of %q, want %q", tt.command, tt.below, got, by, tt.want)
		}
	}
}
