package house

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestNoPackageImportsAWingAboveItsOwn reads the order of the wings from ARCHITECTURE.md. The import law permits single imports;
// the order is what makes them a direction.
func TestNoPackageImportsAWingAboveItsOwn(t *testing.T) {
	level := wings(t)
	for dir, files := range sources(t) {
		own, ok := levelOf(level, dir)
		if !ok {
			if !outsideWings(dir) {
				t.Errorf("%s is in no wing of ARCHITECTURE.md", dir)
			}
			continue
		}
		for name, file := range files {
			for _, spec := range file.Imports {
				imported, local := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
				if theirs, ok := levelOf(level, imported); local && ok && theirs < own {
					t.Errorf("%s: %s imports %s, which is in a wing above its own", name, dir, imported)
				}
			}
		}
	}
}

// wings returns the position of each wing in the list of ARCHITECTURE.md: lines with its packages, two spaces, and what it has.
func wings(t *testing.T) map[string]int {
	t.Helper()
	_, text, found := strings.Cut(read(t, "ARCHITECTURE.md"), "The wings, from top to bottom")
	_, list, indented := strings.Cut(text, "\n\n")
	list, _, ended := strings.Cut(list, "\n\n")
	if !found || !indented || !ended {
		t.Fatal("ARCHITECTURE.md has no list of wings")
	}
	level := map[string]int{}
	for i, line := range strings.Split(list, "\n") {
		packages, _, _ := strings.Cut(strings.TrimPrefix(line, "    "), "  ")
		for dir := range strings.FieldsSeq(packages) { // none in a line that continues the one before
			level[dir] = i
		}
	}
	if len(level) < 20 {
		t.Errorf("only %d wings found: %v", len(level), level)
	}
	return level
}

// levelOf returns the position of the innermost wing that has a package.
func levelOf(level map[string]int, dir string) (int, bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		if i, ok := level[dir]; ok {
			return i, true
		}
	}
	return 0, false
}

// outsideWings reports whether a package is not of the product, or is the program itself, which imports only the first wing.
func outsideWings(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return dir == "." || top == "examples" || strings.HasPrefix(dir, "internal/testing") || strings.HasPrefix(dir, "internal/dev")
}

// TestTheMapHasEveryUseCase checks that each package below internal/app, or the one above it, is in the row that lists them.
func TestTheMapHasEveryUseCase(t *testing.T) {
	_, row, found := strings.Cut(read(t, "ARCHITECTURE.md"), "| a use case | ")
	row, _, _ = strings.Cut(row, "\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no row of use cases")
	}
	const parent = "internal/app/"
	for dir := range sources(t) {
		name, _, _ := strings.Cut(strings.TrimPrefix(dir, parent), "/")
		if strings.HasPrefix(dir, parent) && !strings.Contains(row, "`"+name+"`") {
			t.Errorf("%s is not in the row of use cases of ARCHITECTURE.md", dir)
		}
	}
	for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(row, -1) {
		if _, err := os.Stat(parent + name[1]); err != nil {
			t.Errorf("the row of use cases of ARCHITECTURE.md: %v", err)
		}
	}
}
