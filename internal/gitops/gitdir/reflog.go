package gitdir

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/owner"
)

// ReflogEntry is one line of a reflog.
type ReflogEntry struct {
	Old, New plumbing.Hash
	By       string // as in a commit
	Subject  string // first line of the commit's message
}

func (m ReflogEntry) line() string {
	verb := "commit"
	if m.Old.IsZero() {
		verb = "commit (initial)"
	}
	return fmt.Sprintf("%s %s %s\t%s: %s\n", m.Old, m.New, m.By, verb, m.Subject)
}

// AppendReflog appends to the reflogs of a reference and of HEAD, from which
// users get back what a branch held before. The commit is already made, so a log
// that can't be written is passed over.
func (d *Dir) AppendReflog(ref string, ofHead bool, m ReflogEntry) {
	if ref != "HEAD" {
		d.appendLog(filepath.Join(d.Common, "logs", filepath.FromSlash(ref)), m)
	}
	if ofHead {
		d.appendLog(filepath.Join(d.Own, "logs", "HEAD"), m)
	}
}

func (d *Dir) appendLog(name string, m ReflogEntry) {
	flags := os.O_WRONLY | os.O_APPEND
	if d.Settings.logRefs {
		flags |= os.O_CREATE
		removeEmptyDirs(name)
		_ = owner.MkdirAll(filepath.Dir(name), 0o777)
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return
	}
	owner.Inherit(f)
	_, _ = f.WriteString(m.line())
	_ = f.Close()
}
