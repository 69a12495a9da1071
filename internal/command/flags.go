package command

import (
	"context"
	"errors"
	"fmt"

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

// withoutArguments returns the parse function of a command without arguments, for [act].
func withoutArguments(command string) func(args []string) error {
	return func(args []string) error { return noArguments(command, args) }
}

// oneArgument returns the parse function of a command with one argument, for [act].
func oneArgument(to *string, missing string) func(args []string) error {
	return func(args []string) error {
		if len(args) != 1 {
			return errors.New(missing)
		}
		*to = args[0]
		return nil
	}
}

// jsonFlag is the --json flag of commands that can print JSON.
func jsonFlag(to *bool, usage string) cli.Flag {
	return &cli.BoolFlag{Name: "json", Destination: to, Usage: usage}
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
