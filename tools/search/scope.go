package search

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// maxResults is the maximum number of results of any call.
const maxResults = 1000

// Scope is the directory and the rules of a search.
type Scope struct {
	// Root is the directory that the search can't escape. Paths are relative to
	// it.
	Root *os.Root
	// Base is the directory below Root to search, slash separated; "" and "." are
	// Root itself. Grep also accepts a file. No path element may be a symlink.
	Base   string
	Ignore Ignored // of Root
	// Visible reports whether a file, given relative to Root, may be shown and
	// searched; nil means all. It is called concurrently.
	Visible func(path string) bool
	// Cache is shared by the searches of a tree; nil for none.
	Cache *Cache
}

// Ignored decides which files of a tree are ignored, with its .gitignore files: those that rules exclude and git does not
// track. The zero value ignores what these files exclude.
type Ignored struct {
	Rules *ignore.Matcher // which every .gitignore of the tree overrides
	// Tracked is called when a rule excludes a path; nil: git tracks nothing.
	Tracked func() ignore.Tracked
}

// File is a regular file that was found.
type File struct {
	Path    string // relative to Scope.Root, slash separated
	ModTime time.Time
	Size    int64 // bytes
}

// newestFirst orders files by time, then by path.
func newestFirst(a, b File) int {
	if c := b.ModTime.Compare(a.ModTime); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

// Skipped counts the files and directories that a search could not process.
type Skipped struct {
	Unreadable int // directories and files
	TooLarge   int // files above the limit for searching
	TooSlow    int // files searched only partly because matching timed out
	Ignored    int // visible files that are ignored and would otherwise have been searched or returned
	// ManyIgnored reports that there are too many ignored files to count: more than maxIgnored
	// files and directories.
	ManyIgnored bool
}

// String describes for the model what was skipped; "" if nothing was.
func (s Skipped) String() string {
	var parts []string
	if s.Unreadable > 0 {
		parts = append(parts, fmt.Sprintf("unreadable files or directories skipped: %d", s.Unreadable))
	}
	if s.TooLarge > 0 {
		parts = append(parts, fmt.Sprintf("files larger than %d MiB skipped: %d", maxFile>>20, s.TooLarge))
	}
	if s.TooSlow > 0 {
		parts = append(parts, fmt.Sprintf("files searched only partly because matching timed out after %s: %d", fileTime, s.TooSlow))
	}
	switch {
	case s.ManyIgnored:
		parts = append(parts, fmt.Sprintf("more than %d ignored files and directories were skipped", maxIgnored))
	case s.Ignored == 1:
		parts = append(parts, "1 ignored file was skipped")
	case s.Ignored > 1:
		parts = append(parts, fmt.Sprintf("%d ignored files were skipped", s.Ignored))
	}
	return strings.Join(parts, "; ")
}

// private reports whether a path relative to the root is git's or millhand's
// own. The directories above it are known not to be.
func private(p, name string) bool {
	return strings.EqualFold(name, ".git") || p == ".millhand"
}

// clampLimit returns the effective limit; 0 means the maximum.
func clampLimit(limit int) int {
	if limit <= 0 {
		return maxResults
	}
	return min(limit, maxResults)
}

// errSpecial is for what is neither a directory nor a regular file.
var errSpecial = errors.New("not a directory or regular file")

// cause strips the operation and the path that os puts before an error.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
