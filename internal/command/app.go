package command

import (
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/world"
)

// newApp returns the program. It runs commands, and prints help, completions and the manual page;
// [arrange] prepares its arguments.
func newApp(w world.World) *cli.App {
	fleet, scale := group("fleet\tCare for many pull requests"), group("scale\tRun jobs on several machines")
	check, reference := group("check\tTest rules, calls and evidence"), group("reference\tPrint what there is")
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

// group puts a command into one of the groups of the help.
func group(name string) func(*cli.Command) *cli.Command {
	return func(c *cli.Command) *cli.Command {
		c.Category = name
		return c
	}
}
