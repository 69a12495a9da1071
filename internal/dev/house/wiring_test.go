package house

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The measures of the command line, whose files have flags, options and one call of a use case for each command. What needs more
// lines is a use case, which belongs to a package below internal/app.
const (
	mostCommandLines = 150 // of a file of internal/command, without tests
	mostCommands     = 3000
	mostColumns      = 200 // of a line of the command line and of use cases, whose options and texts are long
)

func TestLinesOfCommandsAndUseCasesFitOnAScreen(t *testing.T) {
	for dir, files := range sources(t) {
		if dir != "internal/command" && !strings.HasPrefix(dir, "internal/app/") {
			continue
		}
		for name := range files {
			for i, line := range strings.Split(read(t, name), "\n") {
				if len(line) > mostColumns {
					t.Errorf("%s:%d has %d columns, more than %d", name, i+1, len(line), mostColumns)
				}
			}
		}
	}
}

func TestCommandsAreWiring(t *testing.T) {
	all := 0
	files := sources(t)["internal/command"]
	for _, name := range slices.Sorted(maps.Keys(files)) {
		lines := strings.Count(read(t, name), "\n")
		if all += lines; lines > mostCommandLines {
			t.Errorf("%s has %d lines, more than %d: move its use case to internal/app", name, lines, mostCommandLines)
		}
	}
	if all == 0 || all > mostCommands {
		t.Errorf("internal/command has %d lines, more than %d or none", all, mostCommands)
	}
}
