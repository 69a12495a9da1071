package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestTheTableOfProgramsIsSorted(t *testing.T) {
	var kinds []string
	for line := range strings.Lines(programsText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			kinds = append(kinds, line)
		}
	}
	if !slices.IsSorted(kinds) {
		t.Error("sort the lines of programs.txt bytewise")
	}
}

func TestMistakesInTheTableOfPrograms(t *testing.T) {
	for line, want := range map[string]string{
		"thing x":                        `line 1: unknown kind "thing"`,
		"program x | opts -a":            `unknown fact "opts"`,
		"program x | use all":            `unknown use "all"`,
		"program x | skip one":           "invalid syntax",
		"program x | code x":             `unknown code "x"`,
		"program x | skip 1\nprogram x":  "line 2: duplicate program x",
		"wrapper x | code x":             `unknown code "x"`,
		"git x | files one":              "invalid syntax",
		"shell a b\nprogram a | opts":    `unknown fact "opts"`,
		"manager x | runs a | runs-x":    `unknown fact "runs-x"`,
		"manager x | first | scripts-of": `unknown fact "scripts-of"`,
	} {
		if _, err := parseKnowledge(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
