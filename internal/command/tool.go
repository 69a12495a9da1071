package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/toolbox"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/sandbox"
)

func toolCommand(w world.World) *cli.Command {
	o := &toolbox.Options{Sandbox: string(sandbox.Auto)}
	return &cli.Command{
		Name: "tool", Usage: "List the tools that a model is offered, or run one call", ArgsUsage: "list | NAME --dir DIR",
		Description: "List the tools that a model is offered; or run one tool call, as a session would,\nand print its result as JSON. The arguments of the call are a JSON object on standard\ninput.",
		UsageText:   "millhand tool list --profile readonly\necho '{\"filePath\": \"go.mod\"}' | millhand tool read --dir .",
		Flags: append(flagsOf(o.Fields("full")),
			&cli.StringFlag{Name: "dir", Destination: &o.Dir, Usage: "Run the call in the workspace `DIR` (required for a call)"},
			&cli.StringFlag{Name: "model", Destination: &o.Model, Usage: "Offer the tools that `MODEL` is offered"},
			jsonFlag(&o.JSON, "Print one JSON document; a call always does"),
			flagOf(levels.Field(&o.Sandbox, "")),
		),
		Action: act(o.Parse, func(ctx context.Context) error {
			if o.Lists() {
				return toolbox.List(ctx, w, *o)
			}
			return toolbox.Call(ctx, w, *o)
		}),
	}
}

// toolsCommand is the former name of "tool list".
func toolsCommand(w world.World) *cli.Command {
	o := &toolbox.Options{Sandbox: string(sandbox.Auto)}
	return &cli.Command{
		Name: "tools", Usage: "List the tools that are offered to a model", Hidden: true,
		UsageText: "millhand tool list --profile readonly\nmillhand tool list --model openai/gpt-5-mini --json",
		Flags: append(flagsOf(o.Fields("full")),
			&cli.StringFlag{Name: "model", Destination: &o.Model, Usage: "List the tools that `MODEL` is offered"},
			jsonFlag(&o.JSON, "Print one JSON document, with the JSON Schemas of the tools"),
			flagOf(levels.Field(&o.Sandbox, "")),
		),
		Action: act(withoutArguments("tool list"), func(ctx context.Context) error { return toolbox.List(ctx, w, *o) }),
	}
}
