package script

import (
	"slices"
	"testing"
)

func TestAwkPrograms(t *testing.T) {
	for text, want := range map[string]Awk{
		"":                               {},
		`{ print $1 }`:                   {},
		`{ print > "out" }`:              {Files: []File{{"out", true}}},
		`{ print >> "out" }`:             {Files: []File{{"out", true}, {"out", true}}},
		`{ print > "/dev/" x }`:          {Hidden: true},
		`{ print ($1 > 2) }`:             {},
		`$1 > 2`:                         {},
		`{ getline line < "in" }`:        {Files: []File{{"in", false}}},
		`{ getline < x }`:                {Hidden: true},
		`{ "date" | getline }`:           {Runs: true},
		`{ print | "sort" }`:             {Runs: true},
		`$1 || $2`:                       {},
		`{ system("x") }`:                {Runs: true},
		`# system("x")`:                  {},
		`{ print "system(1)" }`:          {},
		`/system/ { n++ }`:               {},
		`/[/]|"/ { n++ } /"/`:            {Runs: true},
		`BEGIN { ARGV[1] = "x" }`:        {Hidden: true},
		`@include "x"`:                   {Runs: true},
		`{ print > "/inet/tcp/0/a/80" }`: {Runs: true},
		`{ print a / b; c = d / e }`:     {},
	} {
		if got := ReadAwk(text); got.Runs != want.Runs || got.Hidden != want.Hidden || !slices.Equal(got.Files, want.Files) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestSedScripts(t *testing.T) {
	for text, want := range map[string]Sed{
		"":                     {},
		"s/a/b/g":              {},
		"1,$ s|a|b|p; /x/d":    {},
		"s/a/b/w out":          {Files: []File{{"out", true}}},
		"r in\nw out":          {Files: []File{{"in", false}, {"out", true}}},
		"s/a/b/e":              {Runs: true},
		"e":                    {Runs: true},
		"1e date":              {Commands: []string{"date"}},
		"a\\\ntext e\np":       {},
		"s/a/b":                {Bad: true},
		"k":                    {Bad: true},
		"y/abc/def/;:a;ba":     {},
		"\\,a/b,d":             {},
		"{ s/a/b/; p }":        {},
		"# comment\ns/a/b/w f": {Files: []File{{"f", true}}},
	} {
		got := ReadSed(text)
		if got.Runs != want.Runs || got.Bad != want.Bad || !slices.Equal(got.Files, want.Files) || !slices.Equal(got.Commands, want.Commands) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// Whatever a script is, reading it ends.
func FuzzScripts(f *testing.F) {
	f.Add(`{ print > "out" } /[/]"/`)
	f.Add("s/a/b/w out\n1e date")
	f.Fuzz(func(_ *testing.T, text string) {
		ReadAwk(text)
		ReadSed(text)
	})
}
