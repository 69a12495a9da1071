package command

import (
	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/forecast"
	"github.com/millhand/millhand/internal/app/patterns/compared"
	"github.com/millhand/millhand/internal/app/waves"
	"github.com/millhand/millhand/internal/app/world"
)

// newApp returns the program. It runs commands, and prints help, completions and the manual page;
// [arrange] prepares its arguments.
func newApp(w world.World) *cli.App {
	w.PullTexts = compared.PullTexts
	w.Rollouts = waves.Rollouts{}
	w.Forecast = forecast.Estimate
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
			fleetGroup.of(followCommand(w)),
			fleetGroup.of(distillCommand(w)),
			scaleGroup.of(queueCommand(w)),
			scaleGroup.of(workerCommand(w)),
			checkGroup.of(policyCommand(w)),
			checkGroup.of(toolCommand(w)),
			checkGroup.of(verifyReportCommand(w)),
			referenceGroup.of(explainCommand(w)),
			referenceGroup.of(schemaCommand(w)),
			referenceGroup.of(completionCommand(w)),
			referenceGroup.of(manCommand(w)),
			referenceGroup.of(versionCommand(w)),
			referenceGroup.of(helpCommand()),
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

// group is one of the groups of the help: a key and a title.
type group string

const (
	fleetGroup     group = "fleet\tCare for many pull requests"
	scaleGroup     group = "scale\tRun jobs on several machines"
	checkGroup     group = "check\tTest rules, calls and evidence"
	referenceGroup group = "reference\tPrint what there is"
)

// of puts a command into the group.
func (g group) of(c *cli.Command) *cli.Command {
	c.Category = string(g)
	return c
}
