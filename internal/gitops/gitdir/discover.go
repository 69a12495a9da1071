package gitdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// location is the location of a repository: its working tree, the directory of
// that tree's HEAD and index, and the directory of objects and branches. All
// are absolute, without symlinks.
type location struct{ root, gitDir, commonDir string }

func (p location) linked() bool { return p.gitDir != p.commonDir }

// discover searches a directory and its parents for a working tree.
func discover(dir string) (location, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return location{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return location{}, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		gitDir, err := Of(at)
		if err != nil {
			return location{}, err
		}
		if gitDir != "" {
			return locate(at, gitDir)
		}
		if isGitDir(at) {
			return location{}, &UnsupportedError{Reason: at + " is a bare repository or a .git directory, not a working tree"}
		}
		if filepath.Dir(at) == at {
			return location{}, ErrNotRepository
		}
	}
}

// Of returns the git directory that a work tree's .git is or points to, ""
// if the directory is not the root of a work tree.
func Of(root string) (string, error) {
	name := filepath.Join(root, ".git")
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		if isGitDir(name) {
			return name, nil
		}
		return "", nil
	}
	target, err := ReadPointer(name, "gitdir:")
	if err != nil {
		return "", err
	}
	if !isGitDir(target) {
		return "", fmt.Errorf("%s points to %s: %w", name, target, ErrNotRepository)
	}
	return target, nil
}

func locate(root, gitDir string) (location, error) {
	gitDir, err := filepath.EvalSymlinks(gitDir)
	if err != nil {
		return location{}, err
	}
	common, err := commonDirOf(gitDir)
	if err != nil {
		return location{}, err
	}
	return location{root: root, gitDir: gitDir, commonDir: common}, nil
}

// commonDirOf returns the directory of objects and branches that a git directory
// uses: for a linked worktree the one its commondir file names, else itself.
func commonDirOf(gitDir string) (string, error) {
	common, err := ReadPointer(filepath.Join(gitDir, "commondir"), "")
	if errors.Is(err, os.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(common)
}

// isGitDir reports whether a directory is a git directory, by the three entries
// that git checks.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common, err := commonDirOf(dir)
	if err != nil {
		return false
	}
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
}

// ReadPointer reads a file of one line that names another path, relative to the
// file's own directory.
func ReadPointer(name, prefix string) (string, error) {
	const longest = 64 << 10
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > longest {
		return "", fmt.Errorf("%s: %w", name, ErrNotRepository)
	}
	data, err := sharedfile.Read(name)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(string(data), prefix)
	target = strings.TrimLeft(strings.TrimRight(target, "\r\n"), " ")
	if !ok || target == "" {
		return "", fmt.Errorf("%s does not point to a git directory: %w", name, ErrNotRepository)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return filepath.Clean(target), nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
