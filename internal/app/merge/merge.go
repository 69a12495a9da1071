// Package merge writes the reports of one run from the events of its parts, such as those in the report directories of shards. It runs no job.
package merge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

// Options are what the flags of "millhand report merge" set.
type Options struct {
	Dirs      []string // report directories of the shards
	ReportDir string
	FailOn    event.FailOn
}

// Parse reads the arguments of "millhand report merge".
func (o *Options) Parse(args []string) error {
	o.Dirs = args
	if len(args) == 0 || o.ReportDir == "" {
		return errors.New("report merge requires --report-dir and the report directories of shards, for example: millhand report merge --report-dir all shard-1 shard-2")
	}
	return nil
}

// Shards writes all files that the complete run would have written.
func Shards(ctx context.Context, w world.World, o Options) error {
	parts, err := findParts(o.Dirs, o.ReportDir)
	if err != nil {
		return err
	}
	out, err := rundir.Claim(ctx, w.Dir, o.ReportDir, "merge", w.Clock())
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer out.Close()
	return Write(w, out, parts, o.FailOn)
}

// Write merges parts of a run into a report directory. Its error has the exit code of the run, unless it could not write.
func Write(w world.World, out *rundir.Dir, parts []report.Input, failOn event.FailOn) error {
	events, name, err := out.Files().CreateTemp(".events.jsonl.*")
	if err != nil {
		return fault.New(event.ExitUsage, "create a file in the report directory: %w", err)
	}
	defer out.Files().Remove(name) //nolint:errcheck // renamed on success
	defer events.Close()
	merged, err := mergeInto(events, parts, failOn)
	var refused *report.RefusedError
	switch {
	case errors.As(err, &refused):
		return fault.Wrap(event.ExitUsage, err)
	case err != nil:
		return fault.Wrap(event.ExitInternal, err)
	}
	if err := out.WriteMerged(name, merged); err != nil {
		return fault.New(event.ExitInternal, "write the merged reports to %s: %w", out.Path(), err)
	}
	w.KeepResult(out.Path())
	summary.PaintedText(w.Out, merged.Report, view.Outcomes(w.Out, w.Getenv)) //nolint:errcheck // see output
	fmt.Fprintf(w.Out, "\nreports: %s\n", out.Path())
	return fault.Silent(merged.Exit)
}

// findParts returns the shards to merge.
func findParts(dirs []string, out string) ([]report.Input, error) {
	var parts []report.Input
	for _, dir := range dirs {
		events := filepath.Join(dir, "events.jsonl")
		if _, err := os.Stat(events); err != nil {
			return nil, fault.New(event.ExitUsage, "%s is not a report directory: %w", dir, err)
		}
		if same(dir, out) {
			return nil, fault.New(event.ExitUsage, "%s is an input of the merge, so the reports can't be written there: choose another --report-dir", dir)
		}
		parts = append(parts, report.Input{Name: dir, Open: func() (io.ReadCloser, error) { return rundir.OpenEvents(dir) }})
	}
	return parts, nil
}

// same reports whether two paths are the same directory.
func same(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(inA, inB)
}

func mergeInto(f *os.File, parts []report.Input, failOn event.FailOn) (*report.Merged, error) {
	buffered := bufio.NewWriter(f)
	merged, err := report.Merge(buffered, parts, failOn)
	if err == nil {
		err = errors.Join(buffered.Flush(), f.Chmod(0o644), f.Sync())
	}
	return merged, err
}
