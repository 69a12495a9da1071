package rundir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/report"
)

// TakeMerged makes the directory that of the merged run: its stream, its
// reports, and what else counts of each job.
func (d *Dir) TakeMerged(events string, merged *report.Merged) error {
	d.made = false // there is something to keep from here on
	if err := setAside(d.dir, merged.Report.Run.ID); err != nil {
		return err
	}
	if err := d.dir.Rename(events, "events.jsonl"); err != nil {
		return err
	}
	var errs []error
	for job, part := range merged.Source {
		for _, name := range []string{path.Join("patches", job+".patch"), path.Join("sessions", job+".jsonl"), path.Join("outputs", job)} {
			errs = append(errs, copyAll(filepath.Join(part, name), d.dir, name))
		}
	}
	return errors.Join(append(errs, d.writeReports(merged.Report))...)
}

// copyAll copies a file or a directory of files, if there is one. Symlinks are
// left out: nothing that a run wrote is one.
func copyAll(from string, to *reportdir.Dir, name string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return copyFile(path, to, filepath.ToSlash(name+strings.TrimPrefix(path, from)))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from string, to *reportdir.Dir, name string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return to.WriteWhole(name, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}
