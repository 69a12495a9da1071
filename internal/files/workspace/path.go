package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
)

// maxSymlinks is the maximum number of symlinks in a path's resolution, as on
// Linux.
const maxSymlinks = 40

// Path is a resolved path, without symlinks, "." and "..".
type Path struct {
	Abs     string // absolute
	Rel     string // slash-separated, relative to the workspace ("." for itself); absolute if Outside
	Outside bool
}

// String returns the relative path as one line, for texts.
func (p Path) String() string { return textcut.Path(p.Rel) }

// Git reports whether the path is a .git in the workspace, in any letter case,
// or below one.
func (p Path) Git() bool {
	for component := range strings.SplitSeq(p.Rel, "/") {
		if strings.EqualFold(component, ".git") {
			return true
		}
	}
	return false
}

// Resolve resolves a path from a model: relative to the workspace, with
// symlinks as the kernel would, also if it does not exist yet.
func (w *Workspace) Resolve(path string) (Path, error) { return w.ResolveFrom(w.dir, path) }

// ResolveFrom is Resolve for a path relative to the absolute directory dir.
func (w *Workspace) ResolveFrom(dir, path string) (Path, error) {
	if strings.ContainsRune(path, 0) {
		return Path{}, fmt.Errorf("path %q contains a NUL character", path)
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

// locate returns the Path of an absolute path without symlinks.
func (w *Workspace) locate(abs string) Path {
	if abs == w.dir {
		return Path{Abs: abs, Rel: "."}
	}
	if rel, ok := strings.CutPrefix(abs, strings.TrimSuffix(w.dir, "/")+"/"); ok {
		return Path{Abs: abs, Rel: filepath.ToSlash(rel)}
	}
	return Path{Abs: abs, Rel: abs, Outside: true}
}

// realPath resolves every symlink of an absolute path. From the first component
// that does not exist, the rest is resolved lexically.
func realPath(path string) (string, error) {
	todo := strings.Split(path, "/")
	done, links := "/", 0
	for len(todo) > 0 {
		component := todo[0]
		todo = todo[1:]
		switch component {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, component)
		target, err := os.Readlink(next)
		if err != nil {
			// Not a symlink, missing, or unreadable: resolve lexically. A later
			// open fails with the same error.
			done = next
			continue
		}
		if links++; links > maxSymlinks {
			return "", fmt.Errorf("resolve %s: %w", path, errors.New("too many levels of symbolic links"))
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, nil
}

// Exists reports whether the path exists.
func (w *Workspace) Exists(p Path) bool {
	_, err := w.Stat(p)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}
