package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/doctor"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
)

type doctorOptions struct {
	mode     string // of the sandbox
	manifest string // whose extensions are checked; "" for none
	fix      bool
	json     bool
}

func doctorCommand(w world.World) *cli.Command {
	o := &doctorOptions{mode: string(sandbox.Auto)}
	return &cli.Command{
		Name: "doctor", Usage: "Check what works on this machine, and suggest fixes",
		UsageText: "millhand doctor\nmillhand doctor --fix\nmillhand doctor --manifest millhand.yaml\nmillhand doctor --sandbox require --json",
		Flags: []cli.Flag{
			flagOf(levels.Field(&o.mode, "")),
			&cli.StringFlag{Name: "manifest", Destination: &o.manifest, Usage: "Also check the programs of the extensions in `FILE`"},
			&cli.BoolFlag{Name: "fix", Destination: &o.fix, Usage: "Remove what killed runs left, and make millhand's own directories writable"},
			jsonFlag(&o.json, "Print one JSON document"),
		},
		Action: act(o.parse, func(ctx context.Context) error { return runDoctor(ctx, w, *o) }),
	}
}

func (o *doctorOptions) parse(args []string) error { return noArguments("doctor", args) }

func runDoctor(ctx context.Context, w world.World, o doctorOptions) error {
	options := doctor.Options{Mode: sandbox.Mode(o.mode), Fix: o.fix}
	if o.manifest != "" {
		var err error
		if options.Plan, err = load.Plan(ctx, w, load.Options{Manifests: []string{o.manifest}}); err != nil {
			return err
		}
	}
	e, err := doctor.Examine(ctx, w, options)
	if err != nil {
		return err
	}
	if o.json {
		err = printable.WriteJSON(w.Out, e)
	} else {
		err = e.Print(w.Out)
	}
	if err != nil {
		return fault.New(event.ExitInternal, "print the result: %w", err)
	}
	return fault.Silent(e.ExitCode)
}
