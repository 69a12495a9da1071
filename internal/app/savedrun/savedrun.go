// Package savedrun finds, reads and reopens runs that have left a report directory, writes the evidence of a run, and
// checks that a run which continues has the evidence of the earlier one. It starts and publishes nothing.
package savedrun

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
	"github.com/millhand/millhand/runner/history"
)

// Find returns the directory of a run, which is named by its directory, a file in it, or
// its id if it is below the current directory.
func Find(run string) (string, error) { return FindIn("", run) }

// FindIn is Find for names that are relative to a directory; "" for the current one.
func FindIn(dir, run string) (string, error) {
	name, at := run, filepath.Join(dir, ".millhand", "runs", run)
	if !filepath.IsAbs(run) {
		run = filepath.Join(dir, run)
	}
	if st, err := os.Stat(run); err == nil && !st.IsDir() {
		run = filepath.Dir(run)
	}
	for _, dir := range []string{run, at} {
		if rundir.Resumable(dir) {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("run %s not found: it must be a directory with events.jsonl, or an id in .millhand/runs", name)
}

// OpenEvents opens the events of a run. It is named by its directory, or by its id
// if it is below the current directory.
func OpenEvents(run string) (*os.File, error) {
	dir, err := Find(run)
	if err != nil {
		return nil, err
	}
	return rundir.OpenEvents(dir)
}

// Run is a saved run with its directory.
type Run struct {
	Dir    string
	Report *report.Report
}

// Load reads the report of a run that is named as for [Find].
func Load(run string) (*Run, error) {
	file, err := OpenEvents(run)
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	defer file.Close()
	rep, err := report.Load(file)
	if err != nil {
		return nil, fault.New(event.ExitUsage, "%s: %w", file.Name(), err)
	}
	return &Run{filepath.Dir(file.Name()), rep}, nil
}

// Session reads the conversation of a session. The error is [fs.ErrNotExist] if the run did
// not save it.
func (r *Run) Session(about report.Session) (*transcript.Session, error) {
	s := &transcript.Session{Name: about.Name(), About: about}
	f, err := files.OpenIn(r.Dir, path.Join("sessions", s.Name+".jsonl")) // the name is from a file
	if err != nil {
		return nil, fmt.Errorf("open the session %s: %w", s.Name, err)
	}
	defer f.Close()
	if s.State, _, err = journal.Read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if len(s.State.History) == 0 {
		return nil, fmt.Errorf("%s: no conversation found: the run was killed at its start, or is of an earlier release", f.Name())
	}
	return s, nil
}

// Past reads the events of a run that is not in progress, without changing its
// files.
func Past(run string) (past *history.Past, dir string, err error) {
	if dir, err = Find(run); err != nil {
		return nil, "", fault.Wrap(event.ExitUsage, err)
	}
	if err := rundir.NotInUse(dir); err != nil {
		return nil, "", fault.Wrap(event.ExitUsage, err)
	}
	f, err := rundir.OpenEvents(dir)
	if err != nil {
		return nil, "", fault.New(event.ExitUsage, "%w; continue the run with millhand run --resume first", err)
	}
	defer f.Close()
	past = &history.Past{}
	_, err = event.Read(f, past.Emit)
	switch {
	case err != nil:
		return nil, "", fault.New(event.ExitUsage, "read %s: %w", f.Name(), err)
	case past.Run == nil:
		return nil, "", fault.New(event.ExitUsage, "%s: the run has no events", f.Name())
	}
	return past, dir, nil
}
