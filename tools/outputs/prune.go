package outputs

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/files"
)

// Prune removes saved outputs below a directory that were last written
// before a time, then the directories left empty. It does not touch other
// files.
func Prune(dir *files.Dir, before time.Time) error {
	dirs, err := pruneFiles(dir, before)
	for i := len(dirs) - 1; i > 0; i-- {
		dir.Remove(dirs[i]) //nolint:errcheck // fails for one that is not empty
	}
	return err
}

// GiveUp removes all saved outputs below a directory, for example because the disk
// is full. The directories stay: jobs in progress use them.
func GiveUp(dir *files.Dir) error {
	_, err := pruneFiles(dir, time.Unix(1<<40, 0))
	return err
}

// pruneFiles removes saved outputs that were last written before a time, and returns the
// directories that it has seen.
func pruneFiles(dir *files.Dir, before time.Time) (dirs []string, err error) {
	var failures []error
	err = fs.WalkDir(dir.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			dirs = append(dirs, name)
			return nil
		case !isSavedFile(e):
			return nil
		}
		info, err := e.Info()
		if err == nil && info.ModTime().Before(before) {
			err = dir.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, err)
		}
		return nil
	})
	if err := errors.Join(append(failures, err)...); err != nil {
		return dirs, fmt.Errorf("prune outputs in %s: %w", dir.Path(), err)
	}
	return dirs, nil
}

// isSavedFile reports whether a file has the name of a saved output.
func isSavedFile(e fs.DirEntry) bool {
	return e.Type().IsRegular() && savedOutputName().MatchString(e.Name())
}

// savedOutputName matches the name of a saved output: "output" or a tool's name,
// and a number.
var savedOutputName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}-[0-9]+\.txt$`)
})
