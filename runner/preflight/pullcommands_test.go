package preflight

import (
	"path"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

// changesOf returns changes whose base has symlinks.
func changesOf(below string, paths ...string) headChanges {
	links := map[string]string{"bin": "tools", "checks/run": "tools/lint"}
	return headChanges{paths, below, func(name string) ([]string, error) {
		names := []string{name}
		for at, to := range links {
			if rest, ok := strings.CutPrefix(name, at); ok {
				names = append(names, path.Join(to, rest))
			}
		}
		return names, nil
	}}
}

func TestAChangedFileIsFoundInTheCommandOfAProgram(t *testing.T) {
	all := []string{"guard.sh", "tools/lint/main.js", "docs/a b.md", "sub/Makefile", "out", "checks/style.py", "java/pom.xml"}
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
		{[]string{"sh", "../guard.sh"}, "tools", "guard.sh"},
		{[]string{"node", "main.js"}, "", ""},
		{[]string{"go", "vet", "./..."}, "", ""},
		{[]string{"lint", "."}, "", ""},
		{[]string{"/usr/bin/guard.sh", "-x", "guard.sh.old"}, "", ""},
		{[]string{"sh", "../guard.sh"}, "", ""},
		{[]string{"node", "bin/lint/main.js"}, "", "tools/lint/main.js"},
		{[]string{"checks/run"}, "", "tools/lint/main.js"},
		{[]string{"sh", "out/guard.sh"}, "", "out"},
		{[]string{"bash", "-c", "cd sub && make -s lint"}, "", "sub/Makefile"},
		{[]string{"/usr/bin/make"}, "", "sub/Makefile"},
		{[]string{"just", "lint"}, "", ""},
		{[]string{"python3", "-m", "checks.style", "--fast"}, "", "checks/style.py"},
		{[]string{"sh", "-c", "python -m checks"}, "", "checks/style.py"},
		{[]string{"python3", "-m", "style"}, "checks", "checks/style.py"},
		{[]string{"python3", "-m", "style"}, "", ""},
		{[]string{"./mvnw", "-q", "verify"}, "", "java/pom.xml"},
	} {
		got, by, err := changesOf(tt.below, all...).programs([]tasks.Program{{Name: "other", Command: []string{"true"}}, {Name: "hook", Command: tt.command}})
		if got != tt.want || (by == "hook") != (tt.want != "") || err != nil {
			t.Errorf("%q in %q: %q of %q, want %q (%v)", tt.command, tt.below, got, by, tt.want, err)
		}
	}
}

// Directories of changed files are not programs: commands get them as arguments.
func TestADirectoryOfChangedFilesIsNoProgram(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./tools/...": "", "eslint tools": "", "sh check.sh": "check.sh", "npm ci && npm test": "package.json", "npx lint": "package.json", "bin/lint.js": "tools/lint.js", "true": "",
	} {
		if got, err := changesOf("", "check.sh", "package.json", "tools/lint.js").command(line); got != want || err != nil {
			t.Errorf("%s: %q, want %q (%v)", line, got, want, err)
		}
	}
}
