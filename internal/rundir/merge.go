package rundir

import (
	"errors"
	"io"
	"io/fs"
	"path"

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
		full, err := j.Complete()
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, s := range full.Sessions {
			names = append(names, sessionFile(&s))
		}
		from, err := files.Open(chunk)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, name := range names {
			errs = append(errs, copyAll(from, d.dir, name))
		}
		from.Close()
	}
	return errors.Join(append(errs, d.writeReports(merged.Report))...)
}

// copyAll copies a file or directory, if it exists. It ignores symlinks, which runs don't
// create, and what is below one: the directory may be somebody else's.
func copyAll(from, to *files.Dir, name string) error {
	err := fs.WalkDir(from.FS(), name, func(at string, entry fs.DirEntry, err error) error {
		if entry == nil && from.Check(name) != nil {
			return nil //nolint:nilerr // a symlink, or below one
		}
		if err != nil || !entry.Type().IsRegular() || from.Check(at) != nil {
			return err
		}
		return copyFile(from, to, at)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to *files.Dir, name string) error {
	in, err := from.Read(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return to.WriteAtomic(name, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}
