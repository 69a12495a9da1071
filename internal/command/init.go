package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/opencode"
	"github.com/millhand/millhand/internal/printable"
)

func initCommand(w World) *cli.Command {
	var from, force bool
	return &cli.Command{
		Name: "init", Usage: "Write a first manifest", ArgsUsage: "[DIR]",
		Description: "Writes millhand.yaml in DIR (default: .), and lists what could not be converted.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "from-opencode", Usage: "Convert opencode.json, opencode.jsonc and .opencode of DIR", Destination: &from, EnvVars: noVariable()},
			&cli.BoolFlag{Name: "force", Usage: "Replace an existing millhand.yaml", Destination: &force, EnvVars: noVariable()},
		},
		Action: func(in *cli.Context) error {
			dir := in.Args().First()
			switch {
			case in.NArg() > 1:
				return fail(event.ExitUsage, "init accepts one directory; see 'millhand init --help'")
			case !from:
				return fail(event.ExitUsage, "init requires --from-opencode: other manifests to start from are not supported yet (README has one)")
			case dir == "":
				dir = "."
			}
			return writeManifest(w, dir, force)
		},
	}
}

func writeManifest(w World, dir string, force bool) error {
	known := func(name string) bool {
		_, ok := provider.Lookup(name)
		return ok
	}
	manifest, notes, err := opencode.Convert(dir, known)
	if err != nil {
		return fail(event.ExitUsage, "init: %w", err)
	}
	path := filepath.Join(dir, "millhand.yaml")
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) //nolint:gosec // a manifest is committed and read by others
	if errors.Is(err, fs.ErrExist) {
		return fail(event.ExitUsage, "init: %s exists; use --force to replace it", path)
	}
	if err == nil {
		_, err = f.Write(append([]byte(schemaLine()), manifest...))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fail(event.ExitUsage, "init: %w", err)
	}
	for _, note := range notes {
		fmt.Fprintln(w.Err, printable.Text(note))
	}
	fmt.Fprintf(w.Out, "wrote %s; next: write the task's prompt, then millhand validate %[1]s\n", printable.Text(path))
	return nil
}
