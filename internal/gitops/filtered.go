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

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// errEnough ends a walk that has found enough.
var errEnough = errors.New("enough")

// FilteredPaths returns the paths of a commit's files whose attributes name a filter (Git
// LFS is one), sorted, at most limit of them: changing such a file can't be
// committed. The attributes are those of the commit's own .gitattributes files and
// of what holds for all of the machine and the repository. Paths that match a protect
// glob are left out, as Changes does, and so are those that are not below a
// directory, which is "" for the root.
func (r *Repo) FilteredPaths(ctx context.Context, commit, below string, protect []string, limit int) ([]string, error) {
	paths, err := r.filteredPaths(ctx, commit, below, protect, limit)
	if err != nil {
		return nil, fmt.Errorf("find filtered paths in commit %s: %w", commit, err)
	}
	return paths, nil
}

func (r *Repo) filteredPaths(ctx context.Context, commit, below string, protect []string, limit int) ([]string, error) {
	for _, p := range protect {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("protect glob %q: %w", p, doublestar.ErrBadPattern)
		}
	}
	root, err := r.Git.Objects.RootTree(plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	w := &attributeWalk{ctx: ctx, objects: r.Git.Objects, perDir: map[string]*gitdir.AttributeFile{}}
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
		if isPlain(e.Mode) && IsBelow(path, below) && w.filtered(path) && !outside(path) && !matchesAny(protect, path) {
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
	objects *gitdir.Objects
	wide    gitdir.AttributeStack // of machine and user
	info    *gitdir.AttributeFile
	perDir  map[string]*gitdir.AttributeFile
	filters bool // some line names a filter
}

// readWide reads the attributes of the machine, the user and the repository.
func (w *attributeWalk) readWide(r *Repo) error {
	wide := &workTree{repo: r}
	if err := wide.readAttributeFiles(); err != nil {
		return err
	}
	w.wide, w.info = wide.weakest, wide.absolute
	for _, f := range append(w.wide, w.info) {
		w.filters = w.filters || f.Names("filter")
	}
	return nil
}

func (w *attributeWalk) walk(tree plumbing.Hash, dir string, depth int, each func(string, object.TreeEntry) error) error {
	if depth > gitdir.MaxDepth {
		return fmt.Errorf("directories nested more than %d levels deep", gitdir.MaxDepth)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if tree == gitdir.EmptyTree {
		return nil
	}
	entries, err := w.objects.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := gitdir.JoinPath(dir, e.Name)
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

// note reads an attributes file.
func (w *attributeWalk) note(path string, e object.TreeEntry) error {
	const name = ".gitattributes"
	if !isPlain(e.Mode) || path != name && !strings.HasSuffix(path, "/"+name) {
		return nil
	}
	size, err := w.objects.Size(e.Hash)
	if err != nil || size > maxRuleFileSize {
		return err
	}
	data, err := w.objects.Blob(e.Hash)
	if err != nil {
		return err
	}
	w.filters = w.filters || bytes.Contains(data, []byte("filter"))
	dir := path[:max(0, len(path)-len("/"+name))]
	w.perDir[dir] = gitdir.ParseAttributes(data, dir, dir == "")
	return nil
}

// filtered reports whether a path's attributes name a filter.
func (w *attributeWalk) filtered(path string) bool {
	stack := w.wide[:len(w.wide):len(w.wide)]
	for _, dir := range gitdir.Parents(path) {
		if f := w.perDir[dir]; f != nil {
			stack = append(stack, f)
		}
	}
	if w.info != nil {
		stack = append(stack, w.info)
	}
	filter := stack.Of(path)["filter"]
	return filter != "" && filter != "false"
}
