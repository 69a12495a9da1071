package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/event"
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
		Name: "fail-on", Category: category, Value: option.Of(to, event.ParseFailOn),
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
			f.Category = option.Advanced
		case *cli.StringFlag:
			f.Category = option.Advanced
		case *cli.GenericFlag:
			f.Category = option.Advanced
		}
	}
	return append(first, others...)
}
