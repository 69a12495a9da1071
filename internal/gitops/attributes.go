package gitops

import (
	"bytes"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/store"
)

// commitAttributes has the attribute files of a commit.
type commitAttributes struct {
	objects  *gitdir.Objects
	wide     gitdir.AttributeStack // of machine and user
	info     *gitdir.AttributeFile
	perDir   map[string]*gitdir.AttributeFile
	converts bool // some line names a filter or an encoding
	rewrites bool // some line names another reason why a work tree has other contents
}

// newCommitAttributes reads the attributes of the machine, the user and the repository.
func newCommitAttributes(git *gitdir.Dir) (*commitAttributes, error) {
	wide, info, err := wideAttributes(git)
	if err != nil {
		return nil, err
	}
	w := &commitAttributes{objects: git.Objects, wide: wide, info: info, perDir: map[string]*gitdir.AttributeFile{}}
	for _, f := range append(w.wide, w.info) {
		w.converts = w.converts || f.Names("filter") || f.Names("working-tree-encoding")
		w.rewrites = w.rewrites || f.Names("ident") || f.Names("eol")
	}
	return w, nil
}

// note reads an attributes file.
func (w *commitAttributes) note(path string, at store.State) error {
	dir, name := cutPath(path)
	if name != attributesName || !isPlain(at.Mode) {
		return nil
	}
	size, err := w.objects.Size(at.Hash)
	if err != nil || size > maxRuleFileSize {
		return err
	}
	data, err := w.objects.Blob(at.Hash)
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
