package tasks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/tasks/problem"
)

var globForm = form[string]{Type{Name: "string"}, readGlob}

// search returns what a pattern of a manifest finds; it records what is wrong with the pattern, or
// that a policy refuses a directory that it searches.
func (t text) search(kind, pattern string, s pathglob.Search) (found []string, ok bool) {
	p, err := pathglob.Parse(pattern)
	if err != nil {
		t.invalidGlob(kind, t.s, err)
		return nil, false
	}
	for _, base := range p.Bases() {
		if t.outside(resolvePath(t.src.dir, base), pattern) {
			return nil, false
		}
	}
	s.Dir = t.src.dir
	found, err = p.Find(t.src.inputs.ctx, s)
	switch tooMany := (pathglob.TooManyFiles{}); {
	case errors.As(err, &tooMany):
		t.problem(fmt.Sprintf("%s %s %s", kind, problem.Quote(t.s), tooMany), "start it with a directory, or use fewer **")
	case err != nil:
		t.problem(fmt.Sprintf("%s %s: %s", kind, problem.Quote(t.s), err), "write no / in brackets")
	default:
		return found, true
	}
	return nil, false
}

// readGlob reads a pattern for paths.
func readGlob(v value) (string, bool) {
	t, ok := v.filled()
	if ok && strings.Contains(t.s, opening) {
		v.problem("glob "+problem.Quote(t.s)+": variables are not supported here", "write the path itself")
		return "", false
	}
	return t.s, ok && v.validGlob(t.s)
}

// validGlob reports whether a glob is valid, or records that it is not.
func (v value) validGlob(glob string) bool {
	_, err := pathglob.Parse(glob)
	if err != nil {
		v.invalidGlob("glob", glob, err)
	}
	return err == nil
}

// invalidGlob records why a glob can't be parsed.
func (v value) invalidGlob(kind, glob string, err error) {
	if errors.Is(err, pathglob.ErrTooMany) {
		v.problem(fmt.Sprintf("invalid %s %s: %s", kind, problem.Quote(glob), err), "write several patterns, or use wildcards")
		return
	}
	v.problem(fmt.Sprintf("invalid %s %s", kind, problem.Quote(glob)), "close its brackets")
}
