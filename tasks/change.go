package tasks

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Change limits what a job may change. Zero values limit nothing.
type Change struct {
	Paths          []string // globs of paths in the workspace or the repository; nil for any
	MaxFiles       int
	MaxLines       int // added and removed
	NoDeletedTests bool
}

// IsZero reports whether nothing is limited.
func (c Change) IsZero() bool {
	return c.Paths == nil && c.MaxFiles == 0 && c.MaxLines == 0 && !c.NoDeletedTests
}

var changePathsForm = form[[]changePath]{upTo(maxCells, listOf(globForm)).Type, readChangePaths}

// changePath is one glob of change.paths.
type changePath struct {
	value
	glob string
}

// readChangePaths reads globs of the paths that a task may change.
func readChangePaths(v value) ([]changePath, bool) {
	globs, ok := upTo(maxCells, listOf(form[changePath]{globForm.Type, readChangePath})).read(v)
	if ok && len(globs) == 0 {
		v.problem(v.name+" is empty", "name at least one glob, remove it, or use the profile readonly")
		return nil, false
	}
	return globs, ok
}

func readChangePath(v value) (changePath, bool) {
	glob, ok := globForm.read(v)
	if !ok {
		return changePath{}, false
	}
	clean := strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/")
	switch {
	case strings.HasPrefix(glob, "!"):
		v.problem(fmt.Sprintf("glob %s: exclusions are not supported here", quote(glob)), "put the path under commit.protect")
	case path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../"):
		v.problem(fmt.Sprintf("glob %s is not in the workspace", quote(glob)), "write it relative to the workspace or the repository")
	case clean == "." || clean == "":
		return changePath{v, "**"}, true
	default:
		return changePath{v, clean}, true
	}
	return changePath{}, false
}

// change is what a task may change, as it is written.
type change struct {
	Change
	paths []changePath
}

func (c change) limits() Change {
	for _, p := range c.paths {
		c.Paths = append(c.Paths, p.glob)
	}
	return c.Change
}

var (
	unclearGlob = regexp.MustCompile(`[[{\\]`)
	wildcards   = regexp.MustCompile(`[*?]+`)
)

// noteChange notes globs of change.paths that match only paths which the job's profile may
// not edit. A glob with brackets, braces or escapes is not examined.
func (t *task) noteChange(j Job, found *collector) {
	if !j.Profile.BarsAny() {
		return
	}
	for _, p := range t.change.paths {
		if unclearGlob.MatchString(p.glob) {
			continue
		}
		some := wildcards.ReplaceAllString(p.glob, "qzjxv") // what no rule names
		if d, barred := j.Profile.Bars(some); barred {
			found.note(fmt.Sprintf("%s: change.paths of task %s has %s, which its profile may not edit: rule %s", p.source(), quote(t.id.s), quote(p.glob), d.By()))
		}
	}
}
