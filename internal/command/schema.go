package command

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/reference"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

func schemaCommand(w world.World) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "Print the JSON Schema of manifests, policies, reports, events, scripts of models or findings", ArgsUsage: "[" + strings.Join(reference.Schemas(), "|") + "]",
		UsageText:    "millhand schema >millhand.schema.json\nmillhand schema report",
		BashComplete: completes(reference.Schemas),
		Action: func(in *cli.Context) error {
			if in.NArg() > 1 {
				return fault.New(event.ExitUsage, "schema accepts one of %s", strings.Join(reference.Schemas(), ", "))
			}
			return reference.Schema(w.Out, in.Args().First())
		},
	}
}

func explainCommand(w world.World) *cli.Command {
	var policy bool
	return &cli.Command{
		Name: "explain", Usage: "Explain a key of manifests", ArgsUsage: "KEY",
		Description:  "Explains a key of manifests, or those that match, and lists the keys below it. KEY is complete (tasks.verify.run) or the end of it (verify.run); * stands for any characters.",
		UsageText:    "millhand explain tasks.verify\nmillhand explain 'limits.*'\nmillhand explain --policy hosts",
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "policy", Usage: "Explain a key of policy files", Destination: &policy, EnvVars: noVariable()}},
		BashComplete: completes(reference.KeyPaths),
		Action: func(in *cli.Context) error {
			if in.NArg() != 1 {
				return fault.Wrap(event.ExitUsage, errors.New("explain requires a key: millhand explain tasks.verify"))
			}
			return reference.Explain(w.Out, policy, in.Args().First())
		},
	}
}
