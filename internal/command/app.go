package command

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// newApp returns the program. It runs commands, and prints help, completions and the manual page;
// [arrange] prepares its arguments.
func newApp(w world.World) *cli.App {
	fleet, scale := in("fleet\tCare for many pull requests"), in("scale\tRun jobs on several machines")
	check, reference := in("check\tTest rules, calls and evidence"), in("reference\tPrint what there is")
	return prepare(&cli.App{
		Name: "millhand", Usage: "Run AI coding agents in batches and in CI",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "Print the version", EnvVars: noVariable()}},
		Commands: []*cli.Command{
			runCommand(w),
			planCommand(w),
			validateCommand(w),
			initCommand(w),
			doctorCommand(w),
			reportCommand(w),
			sessionCommand(w),
			publishCommand(w),
			modelsCommand(w),
			fleet(followCommand(w)),
			fleet(distillCommand(w)),
			scale(queueCommand(w)),
			scale(workerCommand(w)),
			check(policyCommand(w)),
			check(toolCommand(w)),
			check(verifyReportCommand(w)),
			reference(explainCommand(w)),
			reference(schemaCommand(w)),
			reference(completionCommand(w)),
			reference(manCommand(w)),
			reference(versionCommand(w)),
			reference(helpCommand()),
			toolsCommand(w),
			runsCommand(w),
			actionCommand(w),
		},
		Action: func(in *cli.Context) error {
			if in.Bool("version") {
				return printVersion(w.Out)
			}
			return withoutCommand(in)
		},
		EnableBashCompletion: true,
		Reader:               w.In, Writer: w.Out, ErrWriter: w.Err,
	})
}

// in puts a command into one of the groups of the help.
func in(group string) func(*cli.Command) *cli.Command {
	return func(c *cli.Command) *cli.Command {
		c.Category = group
		return c
	}
}

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

// all returns commands with those below them.
func all(commands []*cli.Command) []*cli.Command {
	var list []*cli.Command
	for _, c := range commands {
		list = append(append(list, c), all(c.Subcommands)...)
	}
	return list
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

// runLine runs a command line, without the name of the program.
func runLine(ctx context.Context, app *cli.App, args []string, getenv func(string) string) error {
	line := arrange(app, args, getenv)
	if line.err != nil {
		return line.err
	}
	return app.RunContext(context.WithValue(ctx, lineKey{}, line), line.args)
}

// lineKey is the key of a context's value: the [commandLine].
type lineKey struct{}

// lineOf returns the command line that runs; the zero value without one.
func lineOf(ctx context.Context) commandLine {
	line, _ := ctx.Value(lineKey{}).(commandLine)
	return line
}

func noVariables(string) string { return "" }
