package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/sandbox"
)

// exposed returns the outermost tree that the reports can't be in while jobs run; ""
// for none. Outside of a .millhand they would be part of a job's changes. In a
// .millhand, commands could access them at level B, and at level A unless it is in the
// tree's root, where a mount hides it: a directory that contains a mount can be renamed.
func (d *Dir) exposed(level sandbox.Level, trees []string) string {
	outermost := ""
	for _, tree := range trees {
		rel, inside := relative(tree, d.path)
		names := strings.Split(rel, string(filepath.Separator))
		stays := slices.Contains(names, ".millhand")
		switch level {
		case sandbox.Partial:
			stays = false
		case sandbox.Full:
			stays = names[0] == ".millhand"
		case sandbox.Outside, sandbox.None:
		}
		if inside && !stays && (outermost == "" || len(tree) < len(outermost)) {
			outermost = tree
		}
	}
	return outermost
}

// relative returns the path of a file relative to a directory, without symlinks, and
// whether the file is below the directory.
func relative(dir, file string) (string, bool) {
	rel, err := filepath.Rel(Resolve(dir), Resolve(file))
	return rel, err == nil && filepath.IsLocal(rel)
}

// Resolve resolves the symlinks of a path, as far as it exists.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(Resolve(parent), filepath.Base(path))
	}
	return path
}

// privateReports is the directory of reports in a run's private directory.
const privateReports = "report"

// usePrivateDir makes the run write to its private directory.
func (d *Dir) usePrivateDir() error {
	live := filepath.Join(d.work, privateReports)
	if err := os.Mkdir(live, 0o755); err != nil {
		return err
	}
	dir, err := files.Open(live)
	if err != nil {
		return err
	}
	if d.resumed {
		err = d.moveTo(dir)
	}
	d.dir.Close()
	d.dir = dir
	return err
}

// land moves the reports to their final directory after the last command has ended. If
// that fails, path is where they are.
func (d *Dir) land() error {
	if d.tree == "" {
		return nil
	}
	to, err := files.Make(d.tree, d.rel, true)
	if err == nil {
		defer to.Close()
		err = d.moveAll(to)
	}
	if err == nil {
		return nil
	}
	kept, keepErr := keepReports(d.work)
	err = fmt.Errorf("move the reports to %s: %w; the remaining files are in %s", d.path, errors.Join(err, keepErr), kept)
	d.path = kept
	if keepErr != nil {
		d.Leave(kept)
	}
	return err
}

// moveAll moves all files of the run.
func (d *Dir) moveAll(to *files.Dir) error {
	entries, err := fs.ReadDir(d.dir.FS(), ".")
	if err != nil {
		return err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return moveRun(d.dir, to, names)
}

// moveRun moves files of a run from its private directory. events.jsonl is the last one: with it the next process would
// not look for others there.
func moveRun(from, to *files.Dir, names []string) error {
	others := slices.DeleteFunc(names, func(name string) bool { return name == "events.jsonl" })
	if err := from.MoveTo(to, others); err != nil {
		return err
	}
	return from.MoveTo(to, []string{"events.jsonl"})
}

// rescuedReports returns the path of the reports of a private directory that was removed.
func rescuedReports(work string) string {
	return filepath.Join(filepath.Dir(work), strings.Replace(filepath.Base(work), "millhand-", "millhand-report-", 1))
}

// keepReports moves the reports out of a run's private directory, before that is
// removed, and returns their new path.
func keepReports(work string) (string, error) {
	from := filepath.Join(work, privateReports)
	to := rescuedReports(work)
	if err := os.Rename(from, to); err != nil {
		return from, err
	}
	return to, nil
}
