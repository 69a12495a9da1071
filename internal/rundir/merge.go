package rundir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/report"
)

// WriteMerged writes a merged run to the directory: its events, its reports, and the
// patch, sessions and outputs of each job.
func (d *Dir) WriteMerged(events string, merged *report.Merged) error {
	d.made = false // not removed by Close
	if err := setAside(d.dir, merged.Report.Run.ID); err != nil {
		return err
	}
	if err := d.dir.Rename(events, "events.jsonl"); err != nil {
		return err
	}
	var errs []error
	for i := range merged.Report.Jobs {
		j := &merged.Report.Jobs[i]
		chunk, ok := merged.Source[j.ID]
		if !ok {
			continue
		}
		names := []string{path.Join("patches", j.ID+".patch"), path.Join("outputs", j.ID)}
		for k := range j.Sessions {
			names = append(names, sessionFile(&j.Sessions[k]))
		}
		for _, name := range names {
			errs = append(errs, copyAll(filepath.Join(chunk, name), d.dir, name))
		}
	}
	return errors.Join(append(errs, d.writeReports(merged.Report))...)
}

// copyAll copies a file or directory, if it exists. It ignores symlinks, which runs don't
// create.
func copyAll(from string, to *files.Dir, name string) error {
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

func copyFile(from string, to *files.Dir, name string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return to.WriteAtomic(name, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}
