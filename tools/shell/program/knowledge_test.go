package program

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tools/shell/word"
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

// TestDescriptionsAreConsistent looks for what a typing error in the tables
// would leave behind.
func TestDescriptionsAreConsistent(t *testing.T) {
	k, err := parseKnowledge(programsText)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range k.managers {
		checkOptions(t, name, m.options)
		for _, r := range m.runs {
			checkOptions(t, name, r.options)
		}
	}
	for name, p := range k.programs {
		checkOptions(t, name, p.options)
	}
	for name, r := range k.wrappers {
		checkOptions(t, name, r.options)
		for o := range strings.FieldsSeq(r.idle) {
			if full, _, ok := word.Lookup(r.options, o); !ok || full != o {
				t.Errorf("%s: option %s makes it idle but isn't described", name, o)
			}
		}
		if _, ok := k.programs[name]; ok || k.shells[name] {
			t.Errorf("%s is described twice", name)
		}
	}
	for name, s := range k.git {
		checkOptions(t, "git "+name, s.options)
		if (s.when+s.unless != "" || s.operands > 0) && s.changes == "" || s.file > 0 && !s.files {
			t.Errorf("git %s has facts without effect", name)
		}
	}
	if len(k.git) < 130 || len(k.shells) < 10 || !k.shells["bash"] || !k.variables.has("LD_PRELOAD") || !k.harmlessSettings.has("user.name") {
		t.Errorf("%d subcommands of git, %d shells", len(k.git), len(k.shells))
	}
}

func checkOptions(t *testing.T, name, options string) {
	t.Helper()
	var seen []string
	for o := range strings.FieldsSeq(options) {
		bare := strings.TrimRight(o, word.AllMarks)
		if !strings.HasPrefix(o, "-") || slices.Contains(seen, bare) || len(o)-len(bare) > 1 {
			t.Errorf("%s: bad option %q", name, o)
		}
		seen = append(seen, bare)
	}
}
