package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/sandbox"
)

// act returns the action of a command: parse reads the arguments and checks the
// options that its flags have set, and run does the work.
func act(parse func(args []string) error, run func(ctx context.Context) error) cli.ActionFunc {
	return func(in *cli.Context) error {
		if err := parse(in.Args().Slice()); err != nil {
			return fault.Wrap(event.ExitUsage, err)
		}
		return run(in.Context)
	}
}

// noArguments returns an error if there are arguments.
func noArguments(command string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s accepts no arguments, got %q", command, args[0])
	}
	return nil
}

// values is the value of a repeatable flag.
type values []string

// Set adds a value.
func (v *values) Set(value string) error {
	*v = append(*v, value)
	return nil
}

func (v *values) String() string {
	if v == nil {
		return ""
	}
	return strings.Join(*v, ", ")
}

// parsed is the value of a flag with its own parser.
type parsed[T comparable] struct {
	to    *T
	parse func(string) (T, error)
}

func flagOf[T comparable](to *T, parse func(string) (T, error)) *parsed[T] {
	return &parsed[T]{to, parse}
}

// Set parses a value.
func (p *parsed[T]) Set(text string) error {
	value, err := p.parse(text)
	if err == nil {
		*p.to = value
	}
	return err
}

// String formats the value, "" for the zero value.
func (p *parsed[T]) String() string {
	if p.to == nil || *p.to == *new(T) {
		return ""
	}
	return fmt.Sprint(*p.to)
}

func atLeastOne(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("must be an integer greater than 0")
	}
	return n, nil
}

func dollars(text string) (money.USD, error) {
	usd, err := money.ParseLimit(text)
	if err != nil || usd <= 0 {
		return 0, errors.New("must be an amount greater than 0, for example 2.50")
	}
	return usd, nil
}

func period(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration greater than 0, for example 90m")
	}
	return d, nil
}

// jsonFlag is the --json flag of commands that can print JSON.
func jsonFlag(to *bool, usage string) cli.Flag {
	return &cli.BoolFlag{Name: "json", Destination: to, Usage: usage}
}

// sandboxFlag is the --sandbox flag of commands that run confined commands.
func sandboxFlag(to *string, category string) cli.Flag {
	return &cli.StringFlag{Name: "sandbox", Category: category, Destination: to, Value: string(sandbox.Auto), Usage: "Confine commands with `MODE`: auto, require, external or off"}
}

// failOnFlag is the --fail-on flag of commands that exit as a run does.
func failOnFlag(to *event.FailOn, category string) cli.Flag {
	*to = event.FailOnAny
	return &cli.GenericFlag{
		Name: "fail-on", Category: category, Value: flagOf(to, event.ParseFailOn),
		Usage: "Exit with an error only on `FAILURES`: any, all, verify, policy, environment, baseline, never or N% of the jobs (policy stops, credentials and internal errors always count)",
	}
}

// usual are the flags of run that most users need. The others are in a group of their own.
func usual() []string {
	return []string{
		"model", "profile", "var", "publish", "only", "limit", "resume", "max-cost", "jobs", "max-time", "fail-fast",
		"sandbox", "untrusted", "prompt", "verify", "commit", "json", "quiet", "dry-run", "report-dir",
	}
}

// usualFirst returns flags with the usual ones first, and the others in the category of advanced ones.
func usualFirst(flags []cli.Flag) []cli.Flag {
	var first, others []cli.Flag
	for _, f := range flags {
		if slices.Contains(usual(), f.Names()[0]) {
			first = append(first, f)
			continue
		}
		others = append(others, f)
		switch f := f.(type) {
		case *cli.BoolFlag:
			f.Category = advancedFlags
		case *cli.StringFlag:
			f.Category = advancedFlags
		case *cli.GenericFlag:
			f.Category = advancedFlags
		}
	}
	return append(first, others...)
}
