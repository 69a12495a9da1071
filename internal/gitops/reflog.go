package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// movement is one line of a reflog.
type movement struct {
	old, new plumbing.Hash
	by       Signature
	subject  string // first line of the commit's message
}

func (m movement) line() string {
	verb := "commit"
	if m.old.IsZero() {
		verb = "commit (initial)"
	}
	return fmt.Sprintf("%s %s %s\t%s: %s\n", m.old, m.new, m.by, verb, m.subject)
}

// logMovement appends to the reflogs of a reference and of HEAD, from which
// users get back what a branch held before. The commit is already made, so a log
// that can't be written is passed over.
func (r *Repo) logMovement(ref string, ofHead bool, m movement) {
	if ref != "HEAD" {
		r.appendLog(filepath.Join(r.commonDir, "logs", filepath.FromSlash(ref)), m)
	}
	if ofHead {
		r.appendLog(filepath.Join(r.gitDir, "logs", "HEAD"), m)
	}
}

func (r *Repo) appendLog(name string, m movement) {
	flags := os.O_WRONLY | os.O_APPEND
	if r.config.logRefs {
		flags |= os.O_CREATE
		removeEmptyDirs(name)
		_ = os.MkdirAll(filepath.Dir(name), 0o777)
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return
	}
	_, _ = f.WriteString(m.line())
	_ = f.Close()
}

// subject returns the first paragraph of a message on one line.
func subject(message string) string {
	paragraph, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n\n")
	return strings.Join(strings.Fields(paragraph), " ")
}
