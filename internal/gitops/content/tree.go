package content

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/store"
)

// Tree reads the files of a work tree for one operation. Nothing outside
// of its directory is ever read, whatever links an agent has left.
type Tree struct {
	Git     *gitdir.Dir
	filters Filters
	dir     *os.Root

	weakest  gitdir.AttributeStack // the machine's and the user's
	absolute *gitdir.AttributeFile // .git/info/attributes

	mu     sync.Mutex
	perDir map[string]*gitdir.AttributeFile
	failed map[string]error // by path: of its filter

	Skipped func() map[string]plumbing.Hash // rule files that a sparse checkout does not have
}

// Open returns the work tree of a git directory, to be closed. A private one is read by
// its own rules alone, without those of the machine and of the user.
func Open(git *gitdir.Dir, filters Filters, private bool) (*Tree, error) {
	if git.Bare() {
		return nil, gitdir.ErrBare
	}
	dir, err := os.OpenRoot(git.Root)
	if err != nil {
		return nil, fmt.Errorf("open working tree: %w", err)
	}
	t := &Tree{Git: git, filters: filters, dir: dir, perDir: map[string]*gitdir.AttributeFile{}, failed: map[string]error{}}
	t.Skipped = sync.OnceValue(func() map[string]plumbing.Hash { return skippedRules(git) })
	if !private {
		t.weakest, t.absolute, err = wideAttributes(git)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return t, nil
}

// Close closes the working tree.
func (t *Tree) Close() { _ = t.dir.Close() } // opened for reading

// wideAttributes returns the attributes of the machine and the user, and those of the repository's git directory.
func wideAttributes(git *gitdir.Dir) (weakest gitdir.AttributeStack, absolute *gitdir.AttributeFile, err error) {
	for _, name := range []string{git.Settings.SystemAttrs, git.Settings.AttributesFile} {
		f, err := gitdir.ReadAttributeFile(name)
		if err != nil {
			return nil, nil, err
		}
		if f != nil {
			weakest = append(weakest, f)
		}
	}
	absolute, err = gitdir.ReadAttributeFile(filepath.Join(git.Common, "info", "attributes"))
	return weakest, absolute, err
}

// MaxRuleFileSize bounds the ignore and attribute files of a work tree.
const MaxRuleFileSize = 16 << 20

// RuleFile reads an ignore or attribute file of the work tree; nil if missing. One that a sparse checkout does
// not have is read from the index, as git does.
func (t *Tree) RuleFile(name string) ([]byte, error) {
	if !t.isRuleFile(name) {
		if hash, ok := t.Skipped()[name]; ok && !t.exists(name) {
			return t.stored(hash)
		}
		return nil, nil
	}
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxRuleFileSize))
}

func (t *Tree) exists(name string) bool {
	_, err := t.dir.Lstat(name)
	return err == nil
}

// skippedRules returns the ignore and attribute files of the index that are not checked out.
func skippedRules(git *gitdir.Dir) map[string]plumbing.Hash {
	idx, err := git.Index()
	if err != nil {
		return nil
	}
	files := map[string]plumbing.Hash{}
	for i := range idx.Entries {
		e := &idx.Entries[i]
		if _, name := CutPath(e.Path); e.SkipWorktree() && e.Stage() == 0 && IsPlain(e.Mode) && (name == ".gitignore" || name == AttributesName) {
			files[e.Path] = e.Hash
		}
	}
	return files
}

// isRuleFile reports whether there is a plain file (git does not follow links
// there) that is not absurdly large. What can't be reached is not there.
func (t *Tree) isRuleFile(name string) bool {
	info, err := t.dir.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= MaxRuleFileSize
}

// Attributes returns what gitattributes files say about a path.
func (t *Tree) Attributes(path string) (gitdir.Attributes, error) {
	stack := t.weakest[:len(t.weakest):len(t.weakest)]
	for _, dir := range gitdir.Parents(path) {
		f, err := t.attributesOf(dir)
		if err != nil {
			return nil, err
		}
		if !f.Empty() {
			stack = append(stack, f)
		}
	}
	if t.absolute != nil {
		stack = append(stack, t.absolute)
	}
	if len(stack) == 0 {
		return nil, nil
	}
	return stack.Of(path), nil
}

func (t *Tree) attributesOf(dir string) (*gitdir.AttributeFile, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.perDir[dir]; ok {
		return f, nil
	}
	data, err := t.RuleFile(gitdir.JoinPath(dir, ".gitattributes"))
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	f := gitdir.ParseAttributes(data, dir, dir == "")
	t.perDir[dir] = f
	return f, nil
}

// Conversion returns what is done to a path's content.
func (t *Tree) Conversion(path string) (conversion, error) {
	a, err := t.Attributes(path)
	if err != nil {
		return conversion{}, err
	}
	return conversion{
		clean: t.cleaning(path, a), endings: endings(a, t.Git.Settings.AutoCRLF), ident: a["ident"] == "true",
	}, nil
}

// ErrReplaced means that a file is no longer of the kind that it was a moment ago.
var ErrReplaced = errors.New("modified while it was read")

// open opens a plain file without waiting and without leaving the work tree.
func (t *Tree) open(path string) (*os.File, error) {
	f, err := t.dir.OpenFile(path, sharedfile.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: %w", path, ErrReplaced)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenDirectory opens a directory.
func (t *Tree) OpenDirectory(path string) (*os.File, error) { return t.dir.Open(path) }

// File is what git would store for one path of the work tree: bytes in
// memory, or a large file that is stored as it is.
type File struct {
	Data  []byte
	Large *os.File // nil if data holds all
	Size  int64
	Stat  gitdir.Stat
}

// maxWholeRead is up to which size a file is read into memory if it could be
// stored as it is.
const maxWholeRead = 8 << 20

// Read reads a path, to be closed. The id of what was stored there before
// decides on line endings in one case; it may be zero.
func (t *Tree) Read(path string, mode filemode.FileMode, before plumbing.Hash) (*File, error) {
	info, err := t.dir.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := t.dir.Readlink(path)
		if err != nil {
			return nil, err
		}
		return &File{Data: []byte(target), Size: int64(len(target)), Stat: gitdir.StatOf(info)}, nil
	}
	c := conversion{}
	if mode != filemode.Symlink { // else a link that is checked out as a file
		if c, err = t.Conversion(path); err != nil {
			return nil, err
		}
	}
	f, err := t.open(path)
	if err != nil {
		return nil, err
	}
	prior := func() ([]byte, error) { return t.stored(before) }
	out, err := readContent(f, c, prior)
	if failed := (*filterError)(nil); errors.As(err, &failed) {
		t.fail(path, failed)
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			c.clean = nil
			out, err = readContent(f, c, prior)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	if out.Large == nil {
		return out, f.Close()
	}
	return out, nil
}

// fail records that the filter of a path failed, so that the path is not committed. Its
// content is read as it is, so that the change is not lost.
func (t *Tree) fail(path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed[path] = err
}

// Failure returns why the filter of a path failed; nil if it did not.
func (t *Tree) Failure(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed[path]
}

func readContent(f *os.File, c conversion, prior func() ([]byte, error)) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out := &File{Size: info.Size(), Stat: gitdir.StatOf(info)}
	if c.None() && out.Size > maxWholeRead {
		out.Large = f
		return out, nil
	}
	data := make([]byte, out.Size+1)
	n, err := io.ReadFull(f, data)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) || int64(n) != out.Size {
		return nil, errors.Join(err, ErrReplaced)
	}
	if out.Data, err = c.apply(data[:n], prior); err != nil {
		return nil, err
	}
	out.Size = int64(len(out.Data))
	return out, nil
}

// stored returns a blob that decides about line endings; nil if missing.
func (t *Tree) stored(hash plumbing.Hash) ([]byte, error) {
	if hash.IsZero() {
		return nil, nil
	}
	data, err := t.Git.Objects.Blob(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, nil
	}
	return data, err
}

// Close closes a large file.
func (c *File) Close() {
	if c.Large != nil {
		_ = c.Large.Close() // opened for reading
	}
}

// Reader returns the content from its begin. Exactly size bytes are due.
func (c *File) Reader() (io.Reader, error) {
	if c.Large == nil {
		return bytes.NewReader(c.Data), nil
	}
	_, err := c.Large.Seek(0, io.SeekStart)
	return c.Large, err
}

// Hash returns the id of the blob.
func (c *File) Hash() (plumbing.Hash, error) {
	h := plumbing.NewHasher(plumbing.BlobObject, c.Size)
	rd, err := c.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	n, err := io.Copy(h, rd)
	if err == nil && n != c.Size {
		err = ErrReplaced
	}
	return h.Sum(), err
}

// Measured returns a changed path's new content, to be closed. It fails if the
// file changed since its state was read. stored decides on line endings, see content.
func (t *Tree) Measured(path string, after store.State, stored plumbing.Hash) (*File, error) {
	c, err := t.Read(path, after.Mode, stored)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	hash, err := c.Hash()
	if err == nil && hash != after.Hash {
		err = fmt.Errorf("%s was modified after the job's changes were collected: %w", path, gitdir.ErrConflict)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// LargerThan reports whether a file of the working tree is larger than a number
// of bytes. A missing file is not.
func (t *Tree) LargerThan(path string, n int64) (bool, error) {
	info, err := t.dir.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("inspect %s: %w", path, err)
	}
	return info.Mode().IsRegular() && info.Size() > n, nil
}

// ReadAll returns a changed path's new content, of any size.
func (t *Tree) ReadAll(path string, after store.State, stored plumbing.Hash) ([]byte, error) {
	c, err := t.Measured(path, after, stored)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if c.Large == nil {
		return c.Data, nil
	}
	rd, err := c.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(rd, c.Size))
	if err == nil && int64(len(data)) != c.Size {
		err = ErrReplaced
	}
	return data, err
}
