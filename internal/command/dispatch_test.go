package command

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

// sampleCommand has a flag of each kind.
func sampleCommand() *cli.Command {
	return &cli.Command{
		Name: "sample",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Value: "none"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
			&cli.IntFlag{Name: "jobs"},
			&cli.DurationFlag{Name: "max-time"},
			&cli.GenericFlag{Name: "only", Value: &values{}},
			&cli.StringFlag{Name: "keep", EnvVars: noVariable()},
		},
	}
}

func TestFlagsOfACommandLine(t *testing.T) {
	env := map[string]string{"MILLHAND_JOBS": "7", "MILLHAND_QUIET": "", "MILLHAND_KEEP": "x"}
	for line, want := range map[string]string{
		"a b":                            "model=none quiet=false jobs=7 max-time=0s only= keep= | a b",
		"a --jobs 3 b --model=x":         "model=x quiet=false jobs=3 max-time=0s only= keep= | a b",
		"-jobs=3 -m x -q":                "model=x quiet=true jobs=3 max-time=0s only= keep= |",
		"--quiet=false --max-time 90m -": "model=none quiet=false jobs=7 max-time=1h30m0s only= keep= | -",
		"--only a,b --only c d":          "model=none quiet=false jobs=7 max-time=0s only=a,b, c keep= | d",
		"--model --quiet -- --jobs -x":   "model=--quiet quiet=false jobs=7 max-time=0s only= keep= | --jobs -x",
		"--jobs 1 --jobs 2 --model=":     "model= quiet=false jobs=2 max-time=0s only= keep= |",
	} {
		set, _, err := readFlags(sampleCommand(), strings.Fields(line), func(name string) string { return env[name] })
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got []string
		for _, name := range []string{"model", "quiet", "jobs", "max-time", "only", "keep"} {
			got = append(got, name+"="+set.Lookup(name).Value.String())
		}
		if got := strings.Join(append(append(got, "|"), set.Args()...), " "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", line, got, want)
		}
	}
}

func TestMistakesOfACommandLine(t *testing.T) {
	env := func(name string) string { return map[string]string{"MILLHAND_MAX_TIME": "long"}[name] }
	for line, want := range map[string]string{
		"--jbos 3":   "unknown flag --jbos; did you mean --jobs?",
		"--zzzzzzzz": "unknown flag --zzzzzzzz",
		"a --jobs":   "flag needs an argument: --jobs",
		"--jobs x":   `invalid value "x" for --jobs: parse error`,
		"-q=maybe":   `invalid value "maybe" for --quiet: parse error`,
		"a":          `invalid value "long" for MILLHAND_MAX_TIME: parse error`,
	} {
		if _, _, err := readFlags(sampleCommand(), strings.Fields(line), env); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	for _, line := range []string{"-h", "a --help", "--jobs 3 -help"} {
		if _, _, err := readFlags(sampleCommand(), strings.Fields(line), env); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: got %v, want help", line, err)
		}
	}
}

func TestCommandsAreFound(t *testing.T) {
	root := newRoot(World{})
	for line, want := range map[string]string{
		"run a.yaml":             "millhand run | a.yaml",
		"policy explain --help":  "millhand policy explain | --help",
		"policy --help":          "millhand policy | --help",
		"--version":              "millhand | --version",
		"rnu":                    `unknown command "rnu"; did you mean run?; see 'millhand --help'`,
		"policy explian x":       `unknown command "policy explian"; did you mean explain?; see 'millhand policy --help'`,
		"nothing-of-the-kind -x": `unknown command "nothing-of-the-kind"; see 'millhand --help'`,
	} {
		_, path, rest, err := find(root, strings.Fields(line))
		got := strings.Join(append(append(slices.Clone(path), "|"), rest...), " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

func TestFlagsOfOtherCommandsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"validate m.yaml --jobs=3":     "unknown flag --jobs=3, which is a flag of 'millhand run', 'millhand plan', 'millhand distill', 'millhand worker'; see 'millhand validate --help'",
		"plan m.yaml --report-dir out": "unknown flag --report-dir, which is a flag of 'millhand run', 'millhand report merge', 'millhand session fork', 'millhand distill', 'millhand queue report'; see 'millhand plan --help'",
		"run m.yaml --format json":     "unknown flag --format, which is a flag of 'millhand plan'; see 'millhand run --help'",
		"plan m.yaml --jbos 3":         "unknown flag --jbos; did you mean --jobs?; see 'millhand plan --help'",
		"plan m.yaml --resume x":       "unknown flag --resume, which is a flag of 'millhand run'; see 'millhand plan --help'",
	} {
		err := dispatch(t.Context(), newRoot(World{}), strings.Fields(line), func(string) string { return "" }, io.Discard)
		if err == nil || err.Error() != want || exitOf(err) != event.ExitUsage {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}
