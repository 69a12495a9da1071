package command

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/starter/scaffold"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

func initCommand(w world.World) *cli.Command {
	var o scaffold.Options
	return &cli.Command{
		Name: "init", Usage: "Write a first manifest, or the files of a CI system", ArgsUsage: "[DIR]",
		Description: "Writes millhand.yaml in DIR (default: .), with the setup and test commands that its files show, and prints what to do next. The model " +
			"is that of Claude Code's settings for Bedrock or Vertex (CLAUDE_CODE_USE_BEDROCK), or of a provider whose key is set.\n\n" +
			"With --github, --gitlab or --cron it writes workflows and their manifests instead, with --demo an example that can be run without a key; they are " +
			"those of examples/.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "demo", Usage: "Write the quickstart to DIR, a new git repository: a run with a scripted model, without a key", Destination: &o.Demo, EnvVars: noVariable()},
			&cli.BoolFlag{
				Name: "from-opencode", Destination: &o.OpenCode, EnvVars: noVariable(),
				Usage: "Convert opencode.json, opencode.jsonc and .opencode of DIR, list what could not be converted, and validate the result",
			},
			&cli.BoolFlag{Name: "github", Usage: "Write workflows for GitHub Actions: nightly care, comments, reviews, triage, on demand, many repositories", Destination: &o.GitHub, EnvVars: noVariable()},
			&cli.BoolFlag{Name: "gitlab", Usage: "Write a pipeline for GitLab CI", Destination: &o.GitLab, EnvVars: noVariable()},
			&cli.BoolFlag{Name: "cron", Usage: "Write a script, a crontab and units of systemd", Destination: &o.Cron, EnvVars: noVariable()},
			&cli.BoolFlag{Name: "force", Usage: "Replace existing files", Destination: &o.Force, EnvVars: noVariable()},
		},
		Action: func(in *cli.Context) error {
			if in.NArg() > 1 {
				return fault.New(event.ExitUsage, "init accepts one directory; see 'millhand init --help'")
			}
			o.Dir = cmp.Or(in.Args().First(), ".")
			return scaffold.Write(in.Context, w, o)
		},
	}
}
