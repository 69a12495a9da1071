package gitops

import (
	"bytes"
	"crypto/sha1" // git's object ids
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// workTree reads the files of a work tree for one operation. Nothing outside
// of its directory is ever read, whatever links an agent has left.
type workTree struct {
	repo *Repo
	dir  *os.Root

	weakest  attributeStack // the machine's and the user's
	absolute *attributeFile // .git/info/attributes

	mu     sync.Mutex
	perDir map[string]*attributeFile
}

// openWorkTree returns the work tree, to be closed. A private one is read by
// its own rules alone, without those of the machine and of the user.
func (r *Repo) openWorkTree(private bool) (*workTree, error) {
	if r.bare() {
		return nil, errBare
	}
	dir, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, fmt.Errorf("open work tree: %w", err)
	}
	t := &workTree{repo: r, dir: dir, perDir: map[string]*attributeFile{}}
	if !private {
		err = t.readAttributeFiles()
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return t, nil
}

func (t *workTree) close() { _ = t.dir.Close() } // opened for reading

func (t *workTree) readAttributeFiles() error {
	for _, name := range []string{t.repo.config.systemAttrs, t.repo.config.attributesFile} {
		f, err := readAttributeFile(name)
		if err != nil {
			return err
		}
		if f != nil {
			t.weakest = append(t.weakest, f)
		}
	}
	var err error
	t.absolute, err = readAttributeFile(filepath.Join(t.repo.commonDir, "info", "attributes"))
	return err
}

func readAttributeFile(name string) (*attributeFile, error) {
	data, err := readOptional(name)
	if err != nil || data == nil {
		return nil, err
	}
	return parseAttributes(data, "", true), nil
}

// readOptional reads a file of git's; nil if it does not exist.
func readOptional(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := readFile(name)
	if err != nil && !absent(err) {
		return nil, err
	}
	return data, nil
}

// largestRuleFile bounds the ignore and attribute files of a work tree.
const largestRuleFile = 16 << 20

// ruleFile reads an ignore or attribute file of the work tree; nil if there is none.
func (t *workTree) ruleFile(name string) ([]byte, error) {
	if !t.isRuleFile(name) {
		return nil, nil
	}
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, largestRuleFile))
}

// isRuleFile reports whether there is a plain file (git does not follow links
// there) that is not absurdly large. What can't be reached is not there.
func (t *workTree) isRuleFile(name string) bool {
	info, err := t.dir.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= largestRuleFile
}

// attributes returns what gitattributes files say about a path.
func (t *workTree) attributes(path string) (attributes, error) {
	stack := t.weakest[:len(t.weakest):len(t.weakest)]
	for _, dir := range directoriesOf(path) {
		f, err := t.attributesOf(dir)
		if err != nil {
			return nil, err
		}
		if len(f.lines)+len(f.macros) > 0 {
			stack = append(stack, f)
		}
	}
	if t.absolute != nil {
		stack = append(stack, t.absolute)
	}
	if len(stack) == 0 {
		return nil, nil
	}
	return stack.of(path), nil
}

func (t *workTree) attributesOf(dir string) (*attributeFile, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.perDir[dir]; ok {
		return f, nil
	}
	data, err := t.ruleFile(inDirectory(dir, ".gitattributes"))
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	f := parseAttributes(data, dir, dir == "")
	t.perDir[dir] = f
	return f, nil
}

// conversionOf returns what is done to a path's content.
func (t *workTree) conversionOf(path string) (conversion, error) {
	a, err := t.attributes(path)
	if err != nil {
		return conversion{}, err
	}
	return conversion{endings: endings(a, t.repo.config.autoCRLF), ident: a["ident"] == "true"}, nil
}

// errReplaced says that a file is no longer of the kind that it was a moment ago.
var errReplaced = errors.New("it was changed while it was read")

// open opens a plain file without waiting and without leaving the work tree.
func (t *workTree) open(path string) (*os.File, error) {
	f, err := t.dir.OpenFile(path, openFlags, 0)
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

// content is what git would store for one path of the work tree: bytes in
// memory, or a large file that is stored as it is.
type content struct {
	data []byte
	file *os.File // nil if data holds all
	size int64
	stat stat
}

// wholeSize is up to which size a file is read into memory if it could be
// stored as it is.
const wholeSize = 8 << 20

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
		return &content{data: []byte(target), size: int64(len(target)), stat: statOf(info)}, nil
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
	out, err := readContent(f, c, func() ([]byte, error) { return t.stored(before) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	if out.file == nil {
		return out, f.Close()
	}
	return out, nil
}

func readContent(f *os.File, c conversion, prior func() ([]byte, error)) (*content, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	out := &content{size: info.Size(), stat: statOf(info)}
	if c.none() && out.size > wholeSize {
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

// stored returns a blob that decides about line endings; nil if there is none.
func (t *workTree) stored(hash plumbing.Hash) ([]byte, error) {
	if hash.IsZero() {
		return nil, nil
	}
	data, err := t.repo.objects.blob(hash)
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
	h := sha1.New()
	h.Write(strconv.AppendInt([]byte("blob "), c.size, 10))
	h.Write([]byte{0})
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
