package instructions

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tools/skill"
)

// instructionFiles are the names of files with instructions for agents. If there is one with an earlier
// name, those with a later one are not read.
func instructionFiles() []string { return []string{"AGENTS.md", "CLAUDE.md"} }

// maxNotes is the maximum size of a repository's instructions file in bytes.
const maxNotes = 256 << 10

// WaitForFiles waits for the files of the job if its first request depends on more of them
// than instruction files, which are read from the commit. The user's own tree has its files.
func (n Of) WaitForFiles() *ending.Stop {
	s := n.Site
	if s.Complete() {
		return s.Settled()
	}
	if s.InPlace || n.Job.Start.OnPull.Trusted != "" {
		return nil
	}
	for _, dir := range skill.Dirs() {
		if found, err := s.Origin.Has(s.Base, dir); err != nil || found {
			return s.Settled()
		}
	}
	for _, name := range instructionFiles() {
		if found, err := s.Origin.Has(s.Base, name); err != nil || found {
			if text, err := s.Origin.File(s.Base, name); err != nil || len(text) > maxNotes { // a symlink, for example
				return s.Settled()
			}
		}
	}
	return nil
}

// notesOfCommit returns the instructions in the root of a commit, if the profile allows reading them: for a job whose files are
// not checked out yet, or are those of a pull request.
func (n Of) notesOfCommit(commit string, p permission.Profile) []prompt.Text {
	s := n.Site
	for _, name := range instructionFiles() {
		text, err := s.Origin.File(commit, name)
		if err == nil && len(text) <= maxNotes && p.Allows("read", name, name, filepath.Join(s.Dir, name)) {
			return []prompt.Text{{Name: name, Text: strings.ToValidUTF8(string(text), "\uFFFD")}}
		}
	}
	return nil
}

// At is Repository for the files of a commit.
func (n Of) At(commit string, p permission.Profile) []prompt.Text {
	return n.notes(func(name, shown string) (string, bool) {
		text, err := n.Site.Tree.File(commit, name)
		if err != nil || len(text) > maxNotes || !p.Allows("read", path.Clean(shown), name, filepath.Join(n.Site.Tree.Root(), name)) {
			return "", false
		}
		return strings.ToValidUTF8(string(text), "\uFFFD"), true
	})
}
