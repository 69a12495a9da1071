package gitops

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

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/store"
)

// workTree reads the files of a work tree for one operation. Nothing outside
// of its directory is ever read, whatever links an agent has left.
type workTree struct {
	git     *gitdir.Dir
	filters Filters
	dir     *os.Root

	weakest  gitdir.AttributeStack // the machine's and the user's
	absolute *gitdir.AttributeFile // .git/info/attributes

	mu     sync.Mutex
	perDir map[string]*gitdir.AttributeFile
	failed map[string]error // by path: of its filter

	skipped func() map[string]plumbing.Hash // rule files that a sparse checkout does not have
}

// openWorkTree returns the work tree of a git directory, to be closed. A private one is read by
// its own rules alone, without those of the machine and of the user.
func openWorkTree(git *gitdir.Dir, filters Filters, private bool) (*workTree, error) {
	if git.Bare() {
		return nil, gitdir.ErrBare
	}
	dir, err := os.OpenRoot(git.Root)
	if err != nil {
		return nil, fmt.Errorf("open working tree: %w", err)
	}
	t := &workTree{git: git, filters: filters, dir: dir, perDir: map[string]*gitdir.AttributeFile{}, failed: map[string]error{}}
	t.skipped = sync.OnceValue(func() map[string]plumbing.Hash { return skippedRules(git) })
	if !private {
		t.weakest, t.absolute, err = wideAttributes(git)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return t, nil
}

func (t *workTree) close() { _ = t.dir.Close() } // opened for reading

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

// maxRuleFileSize bounds the ignore and attribute files of a work tree.
const maxRuleFileSize = 16 << 20

// ruleFile reads an ignore or attribute file of the work tree; nil if missing. One that a sparse checkout does
// not have is read from the index, as git does.
func (t *workTree) ruleFile(name string) ([]byte, error) {
	if !t.isRuleFile(name) {
		if hash, ok := t.skipped()[name]; ok && !t.exists(name) {
			return t.stored(hash)
		}
		return nil, nil
	}
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRuleFileSize))
}

func (t *workTree) exists(name string) bool {
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
		if _, name := cutPath(e.Path); e.SkipWorktree() && e.Stage() == 0 && isPlain(e.Mode) && (name == ".gitignore" || name == attributesName) {
			files[e.Path] = e.Hash
		}
	}
	return files
}

// isRuleFile reports whether there is a plain file (git does not follow links
// there) that is not absurdly large. What can't be reached is not there.
func (t *workTree) isRuleFile(name string) bool {
	info, err := t.dir.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= maxRuleFileSize
}

// attributes returns what gitattributes files say about a path.
func (t *workTree) attributes(path string) (gitdir.Attributes, error) {
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

func (t *workTree) attributesOf(dir string) (*gitdir.AttributeFile, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.perDir[dir]; ok {
		return f, nil
	}
	data, err := t.ruleFile(gitdir.JoinPath(dir, ".gitattributes"))
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	f := gitdir.ParseAttributes(data, dir, dir == "")
	t.perDir[dir] = f
	return f, nil
}

// conversionOf returns what is done to a path's content.
func (t *workTree) conversionOf(path string) (conversion, error) {
	a, err := t.attributes(path)
	if err != nil {
		return conversion{}, err
	}
	return conversion{
		clean: t.cleaning(path, a), endings: endings(a, t.git.Settings.AutoCRLF), ident: a["ident"] == "true",
	}, nil
}

// errReplaced means that a file is no longer of the kind that it was a moment ago.
var errReplaced = errors.New("modified while it was read")

// open opens a plain file without waiting and without leaving the work tree.
func (t *workTree) open(path string) (*os.File, error) {
	f, err := t.dir.OpenFile(path, gitdir.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: %w", path, errReplaced)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openDirectory opens a directory.
func (t *workTree) openDirectory(path string) (*os.File, error) { return t.dir.Open(path) }

// content is what git would store for one path of the work tree: bytes in
// memory, or a large file that is stored as it is.
type content struct {
	data []byte
	file *os.File // nil if data holds all
	size int64
	stat gitdir.Stat
}

// maxWholeRead is up to which size a file is read into memory if it could be
// stored as it is.
const maxWholeRead = 8 << 20

// content reads a path, to be closed. The id of what was stored there before
// decides on line endings in one case; it may be zero.
func (t *workTree) content(path string, mode filemode.FileMode, before plumbing.Hash) (*content, error) {
	info, err := t.dir.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := t.dir.Readlink(path)
		if err != nil {
			return nil, err
		}
		return &content{data: []byte(target), size: int64(len(target)), stat: gitdir.StatOf(info)}, nil
	}
	c := conversion{}
	if mode != filemode.Symlink { // else a link that is checked out as a file
		if c, err = t.conversionOf(path); err != nil {
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
	if out.file == nil {
		return out, f.Close()
	}
	return out, nil
}

// fail records that the filter of a path failed, so that the path is not committed. Its
// content is read as it is, so that the change is not lost.
func (t *workTree) fail(path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed[path] = err
}

// failure returns why the filter of a path failed; nil if it did not.
func (t *workTree) failure(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed[path]
}

func readContent(f *os.File, c conversion, prior func() ([]byte, error)) (*content, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out := &content{size: info.Size(), stat: gitdir.StatOf(info)}
	if c.none() && out.size > maxWholeRead {
		out.file = f
		return out, nil
	}
	data := make([]byte, out.size+1)
	n, err := io.ReadFull(f, data)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) || int64(n) != out.size {
		return nil, errors.Join(err, errReplaced)
	}
	if out.data, err = c.apply(data[:n], prior); err != nil {
		return nil, err
	}
	out.size = int64(len(out.data))
	return out, nil
}

// stored returns a blob that decides about line endings; nil if missing.
func (t *workTree) stored(hash plumbing.Hash) ([]byte, error) {
	if hash.IsZero() {
		return nil, nil
	}
	data, err := t.git.Objects.Blob(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, nil
	}
	return data, err
}

func (c *content) close() {
	if c.file != nil {
		_ = c.file.Close() // opened for reading
	}
}

// reader returns the content from its begin. Exactly size bytes are due.
func (c *content) reader() (io.Reader, error) {
	if c.file == nil {
		return bytes.NewReader(c.data), nil
	}
	_, err := c.file.Seek(0, io.SeekStart)
	return c.file, err
}

// hash returns the id of the blob.
func (c *content) hash() (plumbing.Hash, error) {
	h := store.NewHash(plumbing.BlobObject, c.size)
	rd, err := c.reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	n, err := io.Copy(h, rd)
	if err == nil && n != c.size {
		err = errReplaced
	}
	return plumbing.Hash(h.Sum(nil)), err
}

// measured returns a changed path's new content, to be closed. It fails if the
// file changed since its state was read. stored decides on line endings, see content.
func (t *workTree) measured(path string, after store.State, stored plumbing.Hash) (*content, error) {
	c, err := t.content(path, after.Mode, stored)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	hash, err := c.hash()
	if err == nil && hash != after.Hash {
		err = fmt.Errorf("%s was modified after the job's changes were collected: %w", path, gitdir.ErrConflict)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// largerThan reports whether a file of the working tree is larger than a number
// of bytes. A missing file is not.
func (t *workTree) largerThan(path string, n int64) (bool, error) {
	info, err := t.dir.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("inspect %s: %w", path, err)
	}
	return info.Mode().IsRegular() && info.Size() > n, nil
}

// readAll returns a changed path's new content, of any size.
func (t *workTree) readAll(path string, after store.State, stored plumbing.Hash) ([]byte, error) {
	c, err := t.measured(path, after, stored)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if c.file == nil {
		return c.data, nil
	}
	rd, err := c.reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(rd, c.size))
	if err == nil && int64(len(data)) != c.size {
		err = errReplaced
	}
	return data, err
}
