package gitops

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Converted are files of a commit with a filter (Git LFS is one) or an encoding.
type Converted struct {
	Filter, Encoding string   // one of them
	Paths            []string // the first ones, sorted
}

// mostConverted is the maximum number of paths in a Converted.
const mostConverted = 4

// Converted returns the files of a commit whose attributes name a filter or an encoding,
// by filter and encoding. The attributes are those of the commit's own .gitattributes
// files and of what holds for all of the machine and the repository. Paths that except
// reports, and those that are not below a directory, which is "" for the root, are left
// out.
func (r *Reader) Converted(ctx context.Context, commit, below string, except func(path string) bool) ([]Converted, error) {
	found, err := r.converted(ctx, commit, below, except)
	if err != nil {
		return nil, fmt.Errorf("find paths with filters in commit %s: %w", commit, err)
	}
	return found, nil
}

func (r *Reader) converted(ctx context.Context, commit, below string, except func(path string) bool) ([]Converted, error) {
	w := &commitAttributes{objects: r.Git.Objects, perDir: map[string]*gitdir.AttributeFile{}}
	if err := w.readWide(r); err != nil {
		return nil, err
	}
	if err := w.noteAll(r, commit); err != nil || !w.converts {
		return nil, err
	}
	files, err := r.SnapshotOf(commit)
	if err != nil {
		return nil, err
	}
	var found []Converted
	for _, path := range files.Paths() {
		if !isPlain(files.files()[path].mode) || !IsBelow(path, below) || outside(path) {
			continue
		}
		a := w.attributes(path)
		one := Converted{Encoding: encodingOf(a)}
		if one.Encoding == "" {
			one.Filter = filterOf(a)
		}
		if one.Filter+one.Encoding == "" || except(path) {
			continue
		}
		at := slices.IndexFunc(found, func(c Converted) bool { return c.Filter == one.Filter && c.Encoding == one.Encoding })
		if at < 0 {
			at, found = len(found), append(found, one)
		}
		if c := &found[at]; len(c.Paths) < mostConverted {
			c.Paths = append(c.Paths, path)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// noteAll reads the attribute files of a commit. They are found by the index, without a map of all files,
// if that has exactly those of the commit.
func (w *commitAttributes) noteAll(r *Reader, commit string) error {
	if idx, err := r.Git.Index(); err == nil && !r.Git.Bare() {
		s, err := r.listingBy(idx, commit)
		if err != nil {
			return err
		}
		if w.listing = s; s != nil {
			for i := range idx.Entries {
				if err := w.note(idx.Entries[i].Path, state{idx.Entries[i].Mode, idx.Entries[i].Hash}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	files, err := r.SnapshotOf(commit)
	if err != nil {
		return err
	}
	for path, at := range files.files() {
		if err := w.note(path, at); err != nil {
			return err
		}
	}
	return nil
}

func isPlain(mode filemode.FileMode) bool {
	return mode == filemode.Regular || mode == filemode.Executable || mode == filemode.Deprecated
}

// commitAttributes has the attribute files of a commit.
type commitAttributes struct {
	objects  *gitdir.Objects
	wide     gitdir.AttributeStack // of machine and user
	info     *gitdir.AttributeFile
	perDir   map[string]*gitdir.AttributeFile
	listing  *Snapshot // keeps it in use
	converts bool      // some line names a filter or an encoding
	rewrites bool      // some line names another reason why a work tree has other contents
}

// readWide reads the attributes of the machine, the user and the repository.
func (w *commitAttributes) readWide(r *Reader) error {
	wide := &workTree{repo: r}
	if err := wide.readAttributeFiles(); err != nil {
		return err
	}
	w.wide, w.info = wide.weakest, wide.absolute
	for _, f := range append(w.wide, w.info) {
		w.converts = w.converts || f.Names("filter") || f.Names("working-tree-encoding")
		w.rewrites = w.rewrites || f.Names("ident") || f.Names("eol")
	}
	return nil
}

// attributesName is the name of attribute files.
const attributesName = ".gitattributes"

// note reads an attributes file.
func (w *commitAttributes) note(path string, at state) error {
	dir, name := cutPath(path)
	if name != attributesName || !isPlain(at.mode) {
		return nil
	}
	size, err := w.objects.Size(at.hash)
	if err != nil || size > maxRuleFileSize {
		return err
	}
	data, err := w.objects.Blob(at.hash)
	if err != nil {
		return err
	}
	w.converts = w.converts || bytes.Contains(data, []byte("filter")) || bytes.Contains(data, []byte("working-tree-encoding"))
	w.rewrites = w.rewrites || bytes.Contains(data, []byte("ident")) || bytes.Contains(data, []byte("eol=crlf"))
	w.perDir[dir] = gitdir.ParseAttributes(data, dir, dir == "")
	return nil
}

// attributes returns what gitattributes files say about a path.
func (w *commitAttributes) attributes(path string) gitdir.Attributes {
	stack := w.wide[:len(w.wide):len(w.wide)]
	for _, dir := range gitdir.Parents(path) {
		if f := w.perDir[dir]; f != nil {
			stack = append(stack, f)
		}
	}
	if w.info != nil {
		stack = append(stack, w.info)
	}
	return stack.Of(path)
}
