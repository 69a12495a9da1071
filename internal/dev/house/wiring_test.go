package house

import (
	"go/scanner"
	"go/token"
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
	mostColumns      = 200 // of a line; in other packages than those of the command line and use cases without its texts
)

func TestLinesFitOnAScreen(t *testing.T) {
	for dir, files := range sources(t) {
		withTexts := dir == "internal/command" || strings.HasPrefix(dir, "internal/app/") && dir != "internal/app/patterns" // has tables of expressions
		for name := range files {
			for at, columns := range longLines(read(t, name), withTexts) {
				t.Errorf("%s:%d has %d columns, more than %d", name, at, columns, mostColumns)
			}
		}
	}
}

// longLines returns the columns of the lines of a Go file that are too long, by their numbers. Without texts, strings and comments do not
// count: rows of tables and messages that contain them are not easier to read on two lines.
func longLines(source string, withTexts bool) map[int]int {
	lines := strings.Split(source, "\n")
	columns := map[int]int{}
	for i, line := range lines {
		columns[i+1] = len(line)
	}
	if !withTexts {
		files := token.NewFileSet()
		file := files.AddFile("", -1, len(source))
		var s scanner.Scanner
		s.Init(file, []byte(source), nil, scanner.ScanComments)
		for pos, kind, text := s.Scan(); kind != token.EOF; pos, kind, text = s.Scan() {
			if kind == token.STRING || kind == token.COMMENT {
				at := files.Position(pos)
				if kind == token.COMMENT { // with the spaces that align it
					columns[at.Line] -= at.Column - 1 - len(strings.TrimRight(lines[at.Line-1][:at.Column-1], " "))
				}
				for i, line := range strings.Split(text, "\n") {
					columns[at.Line+i] -= len(line)
				}
			}
		}
	}
	maps.DeleteFunc(columns, func(_, n int) bool { return n <= mostColumns })
	return columns
}

func TestTextsDoNotMakeALineLong(t *testing.T) {
	long := strings.Repeat("x", 150)
	source := "package p\n\nvar s = \"" + long + "\" + \"" + long + "\" // " + long + "\n\nvar t = `" + long + "\n" + long + long + "`\n\nvar " + long + ", " + long + " int\n"
	if with, without := slices.Sorted(maps.Keys(longLines(source, true))), slices.Sorted(maps.Keys(longLines(source, false))); !slices.Equal(with, []int{3, 6, 8}) || !slices.Equal(without, []int{8}) {
		t.Errorf("lines %v, without texts %v", with, without)
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
