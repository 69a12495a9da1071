package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// errEnough ends a walk that has found what it is to find.
var errEnough = errors.New("enough")

// FilteredPaths returns the paths of a commit's files whose attributes name a filter (Git
// LFS is one), sorted, at most limit of them: changing such a file can't be
// committed. The attributes are those of the commit's own .gitattributes files and
// of what holds for all of the machine and the repository. Paths that match a protect
// glob are left out, as Changes does.
func (r *Repo) FilteredPaths(ctx context.Context, commit string, protect []string, limit int) ([]string, error) {
	paths, err := r.filteredPaths(ctx, commit, protect, limit)
	if err != nil {
		return nil, fmt.Errorf("look for filtered paths in commit %s: %w", commit, err)
	}
	return paths, nil
}

func (r *Repo) filteredPaths(ctx context.Context, commit string, protect []string, limit int) ([]string, error) {
	for _, p := range protect {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("protect glob %q: %w", p, doublestar.ErrBadPattern)
		}
	}
	root, err := r.objects.rootTree(plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	w := &attributeWalk{ctx: ctx, objects: r.objects, perDir: map[string]*attributeFile{}}
	if err := w.readWide(r); err != nil {
		return nil, err
	}
	if err := w.walk(root, "", 0, w.note); err != nil || !w.filters {
		return nil, err
	}
	var found []string
	err = w.walk(root, "", 0, func(path string, e object.TreeEntry) error {
		if len(found) >= limit {
			return errEnough
		}
		if isPlain(e.Mode) && w.filtered(path) && !outside(path) && !matchesAny(protect, path) {
			found = append(found, path)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

func isPlain(mode filemode.FileMode) bool {
	return mode == filemode.Regular || mode == filemode.Executable || mode == filemode.Deprecated
}

// attributeWalk goes through a commit's tree in the order of full paths.
type attributeWalk struct {
	ctx     context.Context //nolint:containedctx // it is used up by one call
	objects *objectStore
	wide    attributeStack // of machine and user
	info    *attributeFile
	perDir  map[string]*attributeFile
	filters bool // some line speaks of a filter
}

// readWide reads the attributes that hold beside those of the commit.
func (w *attributeWalk) readWide(r *Repo) error {
	wide := &workTree{repo: r}
	if err := wide.readAttributeFiles(); err != nil {
		return err
	}
	w.wide, w.info = wide.weakest, wide.absolute
	for _, f := range append(w.wide, w.info) {
		w.filters = w.filters || f.names("filter")
	}
	return nil
}

// names reports whether a line gives an attribute, or a macro does.
func (f *attributeFile) names(attribute string) bool {
	if f == nil {
		return false
	}
	for _, line := range f.lines {
		for _, g := range line.gives {
			if g.name == attribute {
				return true
			}
		}
	}
	for _, gives := range f.macros {
		for _, g := range gives {
			if g.name == attribute {
				return true
			}
		}
	}
	return false
}

func (w *attributeWalk) walk(tree plumbing.Hash, dir string, depth int, each func(string, object.TreeEntry) error) error {
	if depth > deepest {
		return fmt.Errorf("directories are more than %d deep", deepest)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if tree == emptyTree {
		return nil
	}
	entries, err := w.objects.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := inDirectory(dir, e.Name)
		if e.Mode == filemode.Dir {
			err = w.walk(e.Hash, path, depth+1, each)
		} else {
			err = each(path, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note reads a file of attributes.
func (w *attributeWalk) note(path string, e object.TreeEntry) error {
	const name = ".gitattributes"
	if !isPlain(e.Mode) || path != name && !strings.HasSuffix(path, "/"+name) {
		return nil
	}
	size, err := w.objects.size(e.Hash)
	if err != nil || size > largestRuleFile {
		return err
	}
	data, err := w.objects.blob(e.Hash)
	if err != nil {
		return err
	}
	w.filters = w.filters || bytes.Contains(data, []byte("filter"))
	dir := path[:max(0, len(path)-len("/"+name))]
	w.perDir[dir] = parseAttributes(data, dir, dir == "")
	return nil
}

// filtered reports whether a path's attributes name a filter.
func (w *attributeWalk) filtered(path string) bool {
	stack := w.wide[:len(w.wide):len(w.wide)]
	for _, dir := range directoriesOf(path) {
		if f := w.perDir[dir]; f != nil {
			stack = append(stack, f)
		}
	}
	if w.info != nil {
		stack = append(stack, w.info)
	}
	filter := stack.of(path)["filter"]
	return filter != "" && filter != "false"
}
