package command

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/action/step"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
)

// actionCommand is the step of the GitHub action; .github/action/run.sh executes
// it. Inputs are in the environment, but the key of the model's provider is on
// standard input, so that it is never in the environment of this process, which
// commands of an agent could read.
func actionCommand(w world.World) *cli.Command {
	return &cli.Command{
		Name: "github-action", Usage: "Run the step of the GitHub action", Hidden: true,
		Action: func(in *cli.Context) error {
			s := step.New(w)
			var line *step.Line
			dir, exit := s.Read(in.Context)
			if dir != "" {
				here, err := enter(dir)
				line, exit = s.Prepare(in.Context, here, err)
			}
			if line != nil {
				app := prepare(&cli.App{Name: in.App.Name, Commands: []*cli.Command{runCommand(line.World)}, Writer: line.World.Out, ErrWriter: line.World.Err})
				exit = s.Finish(in.Context, runLine(in.Context, app, line.Args, line.World.Getenv))
			}
			s.Close() //nolint:errcheck // a closed log doesn't change the result
			return fault.Silent(exit)
		},
	}
}

// enter changes to a directory, and returns its absolute path.
func enter(dir string) (string, error) {
	if err := os.Chdir(dir); err != nil {
		return "", err
	}
	return os.Getwd()
}
