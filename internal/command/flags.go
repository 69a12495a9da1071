package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/event"
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

// sandboxField is the option --sandbox of commands that run confined commands.
func sandboxField(to *string, group string) option.Field {
	return option.Field{Name: "sandbox", Group: group, To: to, Usage: "Confine commands with `MODE`: auto, require, external or off"}
}

// failOnField is the option --fail-on of commands that exit as a run does.
func failOnField(to *event.FailOn, group string) option.Field {
	return option.Field{
		Name: "fail-on", Group: group, To: option.Of(to, event.ParseFailOn),
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

// usualFirst returns options with the usual ones first, and the others in the group of advanced ones.
func usualFirst(fields []option.Field) []option.Field {
	var first, others []option.Field
	for _, f := range fields {
		if slices.Contains(usual(), f.Name) {
			first = append(first, f)
			continue
		}
		f.Group = option.Advanced
		others = append(others, f)
	}
	return append(first, others...)
}

// flagsOf returns the flags that set options.
func flagsOf(fields []option.Field) []cli.Flag {
	var flags []cli.Flag
	for _, f := range fields {
		flags = append(flags, flagOf(f))
	}
	return flags
}

func flagOf(f option.Field) cli.Flag {
	var aliases, variables []string
	if f.Short != "" {
		aliases = []string{f.Short}
	}
	if f.NoVar {
		variables = noVariable()
	}
	switch to := f.To.(type) {
	case *bool:
		return &cli.BoolFlag{Name: f.Name, Aliases: aliases, Category: f.Group, Destination: to, EnvVars: variables, DefaultText: f.Default, Usage: f.Usage}
	case *string:
		return &cli.StringFlag{Name: f.Name, Aliases: aliases, Category: f.Group, Destination: to, Value: *to, EnvVars: variables, DefaultText: f.Default, Usage: f.Usage}
	}
	return &cli.GenericFlag{Name: f.Name, Aliases: aliases, Category: f.Group, Value: f.To.(option.Value), EnvVars: variables, DefaultText: f.Default, Usage: f.Usage}
}
