package repolist

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

// maxLooked is the maximum number of files and directories that a glob of repositories visits.
const maxLooked = 100_000

// globbed returns the repositories among the directories that a pattern matches,
// in the order of their paths; if there are none, and the pattern has no **, the
// directories that are in a repository. Each is named once, by whatever symlinks it
// can be reached.
func (e repoEntry) globbed() ([]Repo, bool) {
	pattern := filepath.ToSlash(e.target.S)
	elements := strings.Split(pattern, "/")
	for _, element := range elements {
		if _, err := pathglob.Parse(element); err != nil && !errors.Is(err, pathglob.ErrTooMany) {
			e.target.Problem("invalid pattern "+problem.Quote(e.target.S), "close its brackets, and write no / in them")
			return nil, false
		}
	}
	dirs, ok := e.target.Search("pattern", pattern, pathglob.Search{Follow: true, Limit: maxLooked})
	if !ok {
		return nil, false
	}
	found, others := Partition(dirs, func(dir string) bool { return tasks.HoldsRepository(userfile.Resolve(e.Src.Dir, dir)) })
	if len(found) == 0 && !slices.Contains(elements, "**") {
		found, _ = Partition(others, func(dir string) bool { return insideRepository(userfile.Resolve(e.Src.Dir, dir)) })
	}
	return e.pickFound(found)
}

// pickFound makes repositories of the directories that were found.
func (e repoEntry) pickFound(found []string) ([]Repo, bool) {
	var all []Repo
	seen := map[string]bool{}
	for _, dir := range found {
		r, picked, ok := e.one(tasks.Repo{Kind: tasks.RepoPath, Dir: dir, Ref: e.ref}, e.target.Value)
		if !ok {
			return nil, false
		}
		if picked && !seen[r.ID] {
			seen[r.ID] = true
			all = append(all, r)
		}
	}
	switch {
	case len(found) == 0:
		e.target.Problem(fmt.Sprintf("no git repository matches %s", problem.Quote(e.target.S)), "check the pattern; it is relative to the manifest")
	case len(all) == 0:
		e.target.Problem(fmt.Sprintf("no repository of %s is left after include and exclude", problem.Quote(e.target.S)), "compare their patterns with the directories")
	}
	return all, len(all) > 0
}

// insideRepository reports whether a directory is in a work tree, and not in git's
// own directory there.
func insideRepository(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || slices.Contains(strings.Split(real, string(filepath.Separator)), ".git") {
		return false
	}
	return tasks.TopOf(real) != ""
}
