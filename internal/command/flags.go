package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
)

// act makes the action of a command whose flags set options: parse takes the
// arguments and checks the options, and run does the work.
func act(parse func(args []string) error, run func(ctx context.Context) error) cli.ActionFunc {
	return func(in *cli.Context) error {
		if err := parse(in.Args().Slice()); err != nil {
			return failure{event.ExitUsage, err}
		}
		return run(in.Context)
	}
}

// noArguments refuses arguments.
func noArguments(command string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s accepts no arguments, but got %q", command, args[0])
	}
	return nil
}

// jsonFlag is the flag of commands that can print JSON.
func jsonFlag(to *bool, usage string) cli.Flag {
	return &cli.BoolFlag{Name: "json", Destination: to, Usage: usage}
}
