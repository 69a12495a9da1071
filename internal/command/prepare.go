package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

// prepare sets what all commands share. The library would otherwise print usage errors and help to
// standard output, and end the process for some errors.
func prepare(app *cli.App) *cli.App {
	app.HideHelp, app.HideVersion, app.DisableSliceFlagSeparator = true, true, true
	app.CustomAppHelpTemplate = appHelp
	app.OnUsageError = usageError
	app.ExitErrHandler = func(*cli.Context, error) {} // Main exits
	app.Flags = withHelp(app.Flags)
	for _, c := range all(app.Commands) {
		c.HideHelp = true
		c.CustomHelpTemplate = commandHelp
		c.OnUsageError = usageError
		c.Flags = withHelp(c.Flags)
		if c.Action == nil {
			c.Action = withoutCommand
		}
	}
	return app
}

// withHelp adds the flag that shows help, and joins flags of the same category, which the template
// expects. The flag is one for each command, because that of the library is a variable that all share.
func withHelp(flags []cli.Flag) []cli.Flag {
	category := func(f cli.Flag) string { return f.(cli.CategorizableFlag).GetCategory() }
	flags = append(slices.Clip(flags), &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "Show help for the command", EnvVars: noVariable()})
	var order []string
	for _, f := range flags {
		order = append(order, category(f))
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
	slices.SortStableFunc(flags, func(a, b cli.Flag) int {
		return cmp.Compare(slices.Index(order, category(a)), slices.Index(order, category(b)))
	})
	return flags
}

// withoutCommand is the action of a command that only has subcommands.
func withoutCommand(in *cli.Context) error {
	name := in.Args().First()
	switch path := in.Command.HelpName; {
	case name != "":
		unknown := strings.TrimPrefix(path+" "+name, in.App.Name+" ")
		return fault.New(event.ExitUsage, "unknown command %q%s; see '%s --help'", unknown, nearCommand(name, in.Command.VisibleCommands()), path)
	case path == in.App.Name:
		return cli.ShowAppHelp(in)
	default:
		return fault.New(event.ExitUsage, "%s requires a subcommand: %s", in.Command.Name, strings.Join(commandNames(in.Command.VisibleCommands()), ", "))
	}
}

func commandNames(commands []*cli.Command) []string {
	list := make([]string, len(commands))
	for i, c := range commands {
		list[i] = c.Name
	}
	return list
}
