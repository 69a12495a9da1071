package rundir

import (
	"io"
	"io/fs"
	"path"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
	"github.com/millhand/millhand/report/transcript"
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
		d := html.Detail{Sessions: map[string]*transcript.Session{}, Patch: Patch(files, j)}
		left := int64(maxConversations)
		for _, about := range j.Sessions {
			if state := conversation(files, sessionFile(&about), &left); state != nil {
				d.Sessions[about.ID] = &transcript.Session{Name: about.Name(), About: about, State: state}
			}
		}
		return d
	}
}

// Patch returns the start of a job's patch; "" if it has none, or it can't be read.
func Patch(files fs.FS, j *report.Job) string {
	if j.Patch == "" {
		return ""
	}
	f, err := OpenFile(files, j.Patch)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxPatch))
	return string(text)
}

// sessionFile returns the path of a session's journal in a report directory.
func sessionFile(s *report.Session) string { return path.Join("sessions", s.Name()+".jsonl") }

// conversation reads the journal of a session, and subtracts its size from what is left; nil if
// it can't be read, or is too large.
func conversation(files fs.FS, name string, left *int64) *journal.State {
	f, err := OpenFile(files, name)
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
