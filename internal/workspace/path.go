package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may lead through, as on Linux.
const maxLinks = 40

// Path is a resolved path: no link, "." or ".." is left in it.
type Path struct {
	Abs     string // absolute
	Rel     string // relative to the workspace, slash separated, "." for itself; absolute when Outside
	Outside bool
}

// Git reports whether the path is git's own: the .git of the workspace or of a
// directory in it, or what is below, in any letter case.
func (p Path) Git() bool {
	for part := range strings.SplitSeq(p.Rel, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// Resolve resolves a path that a model gave: relative ones against the
// workspace, links as the kernel would, also for what does not exist yet.
func (w *Workspace) Resolve(path string) (Path, error) { return w.ResolveFrom(w.dir, path) }

// ResolveFrom is Resolve for a path relative to the absolute directory dir.
func (w *Workspace) ResolveFrom(dir, path string) (Path, error) {
	if strings.ContainsRune(path, 0) {
		return Path{}, fmt.Errorf("path %q holds a NUL character", path)
	}
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	abs, err := realPath(path)
	if err != nil {
		return Path{}, err
	}
	return w.locate(abs), nil
}

// locate says where an absolute path without links lies.
func (w *Workspace) locate(abs string) Path {
	if abs == w.dir {
		return Path{Abs: abs, Rel: "."}
	}
	if rel, ok := strings.CutPrefix(abs, strings.TrimSuffix(w.dir, "/")+"/"); ok {
		return Path{Abs: abs, Rel: filepath.ToSlash(rel)}
	}
	return Path{Abs: abs, Rel: abs, Outside: true}
}

// realPath follows every link of an absolute path. From the first component
// that does not exist on, the rest is taken by its letters.
func realPath(path string) (string, error) {
	todo := strings.Split(path, "/")
	done, links := "/", 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		target, err := os.Readlink(next)
		if err != nil {
			// Not a link, not there, or not readable: the letters must do. A
			// later open meets the same obstacle and says so.
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolve %s: %w", path, errors.New("too many links"))
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, nil
}

// Exists reports whether there is anything at the path.
func (w *Workspace) Exists(p Path) bool {
	_, err := w.Stat(p)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}
