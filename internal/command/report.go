package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

func reportCommand(w World) *cli.Command {
	c := &cli.Command{Name: "report", Usage: "makes any report of a saved run again"}
	for _, f := range []struct {
		name, usage string
		write       func(io.Writer, *report.Report) error
	}{
		{"show", "prints the run as a table", report.Text},
		{"json", "prints report.json", report.JSON},
		{"junit", "prints junit.xml", report.JUnit},
		{"markdown", "prints summary.md", report.Markdown},
	} {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: f.name, Usage: f.usage, ArgsUsage: "RUN",
			Action: func(cc *cli.Context) error { return printReport(cc, w, f.write) },
		})
	}
	c.Subcommands = append(c.Subcommands, mergeCommand(w))
	for _, name := range []string{"html", "sarif", "diff"} {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: name, Usage: "not supported yet", Hidden: true, SkipFlagParsing: true,
			Action: func(*cli.Context) error { return fail(event.ExitUsage, "report %s is not supported yet", name) },
		})
	}
	return c
}

func printReport(c *cli.Context, w World, write func(io.Writer, *report.Report) error) error {
	if c.NArg() != 1 {
		return fail(event.ExitUsage, "report %s wants a run: its id, or its report directory", c.Command.Name)
	}
	file, err := findEvents(c.Args().First())
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	defer file.Close()
	rep, err := report.Load(file)
	if err != nil {
		return fail(event.ExitUsage, "%s: %w", file.Name(), err)
	}
	if err := write(w.Out, rep); err != nil {
		return fail(event.ExitInternal, "print the report: %w", err)
	}
	return nil
}

// findEvents opens the events of a run that is named by its directory or, for
// one below the current directory, by its id.
func findEvents(run string) (*os.File, error) {
	if st, err := os.Stat(run); err == nil && !st.IsDir() {
		run = filepath.Dir(run) // a file of the report directory
	}
	for _, dir := range []string{run, filepath.Join(".millhand", "runs", run)} {
		f, err := os.Open(filepath.Join(dir, "events.jsonl"))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("there is no run %s: neither a folder with an events.jsonl nor an id below .millhand/runs", run)
}
