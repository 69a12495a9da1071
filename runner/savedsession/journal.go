package savedsession

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/journal"
)

// States is the directory of the saved states of worktrees, in the report directory.
const States = "snapshots/objects"

// readJournal reads the session of a job.
func readJournal(dir, job string) (*journal.State, error) {
	f, err := files.OpenIn(dir, Path(job)) // the name is from a file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the session of job %s was not saved", job)
	}
	if err != nil {
		return nil, fmt.Errorf("open the session of job %s: %w", job, err)
	}
	defer f.Close()
	state, _, err := journal.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if len(state.History) == 0 {
		return nil, fmt.Errorf("%s: no conversation found: the run was killed at its start, or is of an earlier release", f.Name())
	}
	return state, nil
}

// maxListed is the maximum number of messages or turns that an error lists.
const maxListed = 20

// listed lists the last names.
func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s (and %d before)", strings.Join(names[more:], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Read returns what a session of an earlier process has saved, and the length of an
// incomplete last line; nil without a file.
func Read(dir *files.Dir, file string) (*journal.State, int, error) {
	f, err := dir.FS().Open(Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	state, torn, err := journal.Read(f)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", Path(file), err)
	}
	return state, torn, nil
}

// Cut removes the end of a session's journal.
func Cut(dir *files.Dir, file string, bytes int) error {
	f, err := dir.Append(Path(file))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return f.Truncate(info.Size() - int64(bytes))
}

// Path returns the path of a session's journal in the report directory.
func Path(file string) string { return path.Join("sessions", file+".jsonl") }
