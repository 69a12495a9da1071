package form

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/problem"
)

// Glob is the form of a pattern of paths.
var Glob = Of[string]{Type{Name: "string"}, readGlob}

// Search returns what a pattern of a manifest finds; it records what is wrong with the pattern, or
// that a policy refuses a directory that it searches.
func (t Text) Search(kind, pattern string, s pathglob.Search) (found []string, ok bool) {
	p, err := pathglob.Parse(pattern)
	if err != nil {
		t.invalidGlob(kind, t.S, err)
		return nil, false
	}
	for _, base := range p.Bases() {
		if t.Outside(userfile.Resolve(t.Src.Dir, base), pattern) {
			return nil, false
		}
	}
	s.Dir = t.Src.Dir
	found, err = p.Find(t.Src.Inputs.Ctx, s)
	switch tooMany := (pathglob.TooManyFiles{}); {
	case errors.As(err, &tooMany):
		t.Problem(fmt.Sprintf("%s %s %s", kind, problem.Quote(t.S), tooMany), "start it with a directory, or use fewer **")
	case err != nil:
		t.Problem(fmt.Sprintf("%s %s: %s", kind, problem.Quote(t.S), err), "write no / in brackets")
	default:
		return found, true
	}
	return nil, false
}

// readGlob reads a pattern for paths.
func readGlob(v Value) (string, bool) {
	t, ok := v.Filled()
	if ok && strings.Contains(t.S, Opening) {
		v.Problem("glob "+problem.Quote(t.S)+": variables are not supported here", "write the path itself")
		return "", false
	}
	return t.S, ok && v.ValidGlob(t.S)
}

// ValidGlob reports whether a glob is valid, or records that it is not.
func (o Origin) ValidGlob(glob string) bool {
	_, err := pathglob.Parse(glob)
	if err != nil {
		o.invalidGlob("glob", glob, err)
	}
	return err == nil
}

// invalidGlob records why a glob can't be parsed.
func (o Origin) invalidGlob(kind, glob string, err error) {
	if errors.Is(err, pathglob.ErrTooMany) {
		o.Problem(fmt.Sprintf("invalid %s %s: %s", kind, problem.Quote(glob), err), "write several patterns, or use wildcards")
		return
	}
	o.Problem(fmt.Sprintf("invalid %s %s", kind, problem.Quote(glob)), "close its brackets")
}
