package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

func mergeCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "makes one run's reports of several shards', and exits as that run would", ArgsUsage: "DIR...",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "report-dir", Usage: "write the reports into this folder (required)"},
			&cli.StringFlag{Name: "fail-on", Usage: "as of millhand run", Value: "any"},
		},
		Action: func(c *cli.Context) error { return mergeReports(c, w) },
	}
}

// mergeReports writes everything that the whole run would have written.
func mergeReports(c *cli.Context, w World) error {
	failOn, err := event.ParseFailOn(c.String("fail-on"))
	switch {
	case err != nil:
		return failure{event.ExitUsage, err}
	case c.NArg() == 0 || c.String("report-dir") == "":
		return fail(event.ExitUsage, "report merge wants the report directories of shards: millhand report merge --report-dir all shard-1 shard-2")
	}
	parts, err := findParts(c.Args().Slice(), c.String("report-dir"))
	if err != nil {
		return err
	}
	out, err := claimReportDir(c.String("report-dir"), "merge", w)
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	defer out.close()
	whole, err := os.CreateTemp(out.path, ".events.jsonl.*")
	if err != nil {
		return fail(event.ExitUsage, "write into the report directory: %w", err)
	}
	defer os.Remove(whole.Name())
	defer whole.Close()
	merged, err := mergeInto(whole, parts, failOn)
	var refused *report.RefusedError
	switch {
	case errors.As(err, &refused):
		return failure{event.ExitUsage, err}
	case err != nil:
		return failure{event.ExitInternal, err}
	}
	out.made = false // from here on there is something to keep
	if err := out.takeMerged(whole.Name(), merged); err != nil {
		return fail(event.ExitInternal, "write the merged reports in %s: %w", out.path, err)
	}
	report.Text(w.Out, merged.Report) //nolint:errcheck // the reports are written
	fmt.Fprintf(w.Out, "\nreports: %s\n", out.path)
	return exitWith(merged.Exit)
}

// findParts names the runs that are to be merged.
func findParts(dirs []string, out string) ([]report.Part, error) {
	var parts []report.Part
	for _, dir := range dirs {
		events := filepath.Join(dir, "events.jsonl")
		if _, err := os.Stat(events); err != nil {
			return nil, fail(event.ExitUsage, "%s is not the report directory of a run: %w", dir, err)
		}
		if same(dir, out) {
			return nil, fail(event.ExitUsage, "%s is to be merged, so that the reports can't be written there: give another --report-dir", dir)
		}
		parts = append(parts, report.Part{Name: dir, Open: func() (io.ReadCloser, error) { return os.Open(events) }})
	}
	return parts, nil
}

// same reports whether two names are of one folder.
func same(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(inA, inB)
}

func mergeInto(f *os.File, parts []report.Part, failOn event.FailOn) (*report.Merged, error) {
	buffered := bufio.NewWriter(f)
	merged, err := report.Merge(buffered, parts, failOn)
	if err == nil {
		err = errors.Join(buffered.Flush(), f.Chmod(0o644), f.Sync())
	}
	return merged, err
}

// takeMerged makes the directory that of the merged run: its stream, its
// reports, and what else counts of each job.
func (d *reportDir) takeMerged(events string, merged *report.Merged) error {
	if err := setAside(d.path, merged.Report.Run.ID); err != nil {
		return err
	}
	if err := os.Rename(events, filepath.Join(d.path, "events.jsonl")); err != nil {
		return err
	}
	var errs []error
	for job, part := range merged.Source {
		for _, name := range []string{filepath.Join("patches", job+".patch"), filepath.Join("sessions", job+".jsonl"), filepath.Join("outputs", job)} {
			errs = append(errs, copyAll(filepath.Join(part, name), filepath.Join(d.path, name)))
		}
	}
	return errors.Join(append(errs, writeReports(d.path, merged.Report))...)
}

// copyAll copies a file or a folder of files, if there is one. Links are left
// out: nothing that a run wrote is one.
func copyAll(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return copyFile(path, to+strings.TrimPrefix(path, from))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
