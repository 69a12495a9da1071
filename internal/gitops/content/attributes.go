package content

import (
	"bytes"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/store"
)

// CommitAttributes has the attribute files of a commit.
type CommitAttributes struct {
	objects  *objectdb.Objects
	wide     gitdir.AttributeStack // of machine and user
	info     *gitdir.AttributeFile
	perDir   map[string]*gitdir.AttributeFile
	Converts bool // some line names a filter or an encoding
	Rewrites bool // some line names another reason why a work tree has other contents
}

// NewCommitAttributes reads the attributes of the machine, the user and the repository.
func NewCommitAttributes(git *gitdir.Dir) (*CommitAttributes, error) {
	wide, info, err := wideAttributes(git)
	if err != nil {
		return nil, err
	}
	w := &CommitAttributes{objects: git.Objects, wide: wide, info: info, perDir: map[string]*gitdir.AttributeFile{}}
	for _, f := range append(w.wide, w.info) {
		w.Converts = w.Converts || f.Names("filter") || f.Names("working-tree-encoding")
		w.Rewrites = w.Rewrites || f.Names("ident") || f.Names("eol")
	}
	return w, nil
}

// Note reads an attributes file.
func (w *CommitAttributes) Note(path string, at store.State) error {
	dir, name := CutPath(path)
	if name != AttributesName || !IsPlain(at.Mode) {
		return nil
	}
	size, err := w.objects.Size(at.Hash)
	if err != nil || size > MaxRuleFileSize {
		return err
	}
	data, err := w.objects.Blob(at.Hash)
	if err != nil {
		return err
	}
	w.Converts = w.Converts || bytes.Contains(data, []byte("filter")) || bytes.Contains(data, []byte("working-tree-encoding"))
	w.Rewrites = w.Rewrites || bytes.Contains(data, []byte("ident")) || bytes.Contains(data, []byte("eol=crlf"))
	w.perDir[dir] = gitdir.ParseAttributes(data, dir, dir == "")
	return nil
}

// Attributes returns what gitattributes files say about a path.
func (w *CommitAttributes) Attributes(path string) gitdir.Attributes {
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
