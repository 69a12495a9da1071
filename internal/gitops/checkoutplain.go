package gitops

import (
	"runtime"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// mostStored is how many files of a checkout can be read from objects, beside an eighth of all: git
// reads more of them faster.
const mostStored = 64

// largestCopy is the maximum size of a file in bytes, because contents are held in memory.
const largestCopy = 8 << 20

// plain reports whether a checkout without git has the result of one by git, which reads only the
// configuration of the repository, and whether it is faster. In doubt it is not.
func (c *checkout) plain() bool {
	git := c.to.Git
	if runtime.GOOS != "linux" { // elsewhere, file systems change names
		return false
	}
	if c.large || c.stored > mostStored+len(c.commit.ByPath())/8 {
		return false
	}
	if git.Objects.Replaces() || !git.Settings.Symlinks || git.Settings.AutoCRLF == "true" || !plainConfig(git.Config) {
		return false
	}
	attributes, err := content.NewCommitAttributes(git)
	if err != nil {
		return false
	}
	for _, d := range c.dirs {
		for _, f := range d.files {
			if ok, err := c.plainFile(attributes, f); !ok || err != nil {
				return false
			}
		}
	}
	return !attributes.Converts && !attributes.Rewrites
}

// plainConfig reports whether no setting changes how git writes files.
func plainConfig(config gitdir.ConfigFiles) bool {
	for _, key := range []struct{ section, key string }{
		{"core", "eol"},
		{"core", "ignorecase"},
		{"core", "ignorestat"},
		{"core", "sharedrepository"},
		{"attr", "tree"},
		{"worktree", "userelativepaths"},
	} {
		for _, value := range config.Values(key.section, "", key.key) {
			if !slices.Contains([]string{"false", "lf", "native", "umask"}, strings.ToLower(value)) {
				return false
			}
		}
	}
	return true
}

// plainFile reports whether a file has a usual mode and, if it is only an object, size. It reads attribute files.
func (c *checkout) plainFile(attributes *content.CommitAttributes, f newFile) (bool, error) {
	_, name := content.CutPath(f.Path)
	switch {
	case f.Mode == filemode.Submodule:
		return true, nil
	case !content.IsPlain(f.Mode) && (f.Mode != filemode.Symlink || name == content.AttributesName):
		return false, nil
	case f.size < 0:
		size, err := c.to.Git.Objects.Size(f.Hash)
		if err != nil || size > largestCopy {
			return false, err
		}
	}
	return true, attributes.Note(f.Path, f.State)
}
