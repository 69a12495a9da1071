package command

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// version returns the module version of this build, or its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "devel" && len(s.Value) >= 12 {
			v += "+" + s.Value[:12]
		}
	}
	return v
}

func versionCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "Print the version",
		Action: func(*cli.Context) error { return printVersion(w.Out) },
	}
}

func printVersion(out io.Writer) error {
	_, err := fmt.Fprintln(out, "millhand "+version())
	return err
}
