package rundir

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/transcript"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
)

// Limits of files that are read for the details of a job, in bytes. They are far above what
// a report shows.
const (
	maxConversations = 64 << 20 // of all sessions together: a job may have hundreds
	maxPatch         = 4 << 20
)

// Details returns a function that reads the conversations and the patch of a job from the
// files of a report directory. What can't be read is missing.
func Details(files fs.FS) func(*report.Job) html.Detail {
	return func(j *report.Job) html.Detail {
		d := html.Detail{Sessions: map[string]*transcript.Session{}}
		left := int64(maxConversations)
		for _, about := range j.Sessions {
			file := sessionFile(about)
			if state := conversation(files, file, &left); state != nil {
				d.Sessions[about.ID] = &transcript.Session{Name: strings.TrimSuffix(path.Base(file), ".jsonl"), About: about, State: state}
			}
		}
		if j.Patch == "" {
			return d
		}
		if f, err := files.Open(path.Clean(j.Patch)); err == nil {
			defer f.Close()
			text, _ := io.ReadAll(io.LimitReader(f, maxPatch))
			d.Patch = string(text)
		}
		return d
	}
}

// sessionFile returns the path of a session's journal in a report directory. The id of a
// session is RUN/NAME, and may be from a file that others wrote.
func sessionFile(s report.Session) string {
	return path.Join("sessions", path.Base(s.ID)+".jsonl")
}

// conversation reads the journal of a session, and subtracts its size from what is left; nil if
// it can't be read, or is too large.
func conversation(files fs.FS, name string, left *int64) *journal.State {
	f, err := files.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > *left {
		return nil
	}
	*left -= info.Size()
	state, _, err := journal.Read(f)
	if err != nil {
		return nil
	}
	return state
}
