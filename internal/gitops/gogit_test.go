package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/gitattributes"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// goGitLoses are reproductions of what commits would lose with the Repository, Worktree and Storer of go-git
// 5.19.3, and the code that is used instead. The Storer has a file system that syncs files and follows no symlinks.
// For the rows about locks it would have to be what gitdir/lock.go is, and for the others it can't help.
var goGitLoses = []struct {
	what, instead string
	loses         func(*testing.T, *gittest.Sandbox) bool
}{
	{"flags of index entries: assume-unchanged", "gitdir/index.go", losesIndexFlags},
	{"split indexes", "gitdir/splitindex.go", losesSplitIndex},
	{"index.lock of another process", "gitdir/lock.go", losesIndexLock},
	{"the reflog", "gitdir/reflog.go", losesReflog},
	{"settings of included files", "gitdir/include.go", losesIncluded},
	{"line endings by attributes", "content", losesLineEndings},
	{"info/exclude", "state/ignored.go", losesExclude},
	{"attributes of patterns that negate a class", "gitdir/attributes.go", losesAttributes},
	{"binary files in patches", "state/patch.go", losesBinary},
	{"names with newlines in patches", "state/patch.go", losesNames},
	{"objects of a repository that others borrow from", "objectdb/objects.go", losesAlternates},
	{"memory for the indexes of packs", "objectdb/packindex.go", losesMemory},
	{"differences of objects from their hashes", "objectdb/stored.go", losesHashes},
	{"repositories with sparse checkouts", "gitdir/worktreeconfig.go", losesSparse},
	{"a commit on a branch that git pack-refs packs", "gitdir/lock.go", losesToPackRefs},
	{"a branch whose file is being written", "gitdir/lock.go", losesTorn},
	{"lock files of references", "gitdir/lock.go", losesRefLock},
	{"a branch in whose directory others are", "gitdir/refs.go", losesRoom},
	{"the creation of a branch that must not exist", "gitdir/refs.go", losesCreation},
	{"branches with names of empty directories", "gitdir/refs.go", losesEmptyDirectory},
	{"old objects that are needed again", "store/objectwriter.go", losesOldObjects},
	{"packs without a reference during git gc", "store/packwriter.go", losesPacks},
	{"packs that are written again after a full disk", "objectdb/packs.go", losesAfterFullDisk},
	{"objects that are in no store yet", "store/packwriter.go", losesStreams},
}

// TestWhatGoGitLoses fails if go-git has learned something: then use it instead of the code that the row names.
// What its ignore rules and its transports lose is in the tests of this name in ignore and remote.
func TestWhatGoGitLoses(t *testing.T) {
	for _, row := range goGitLoses {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			s := gittest.NewSandbox(t)
			s.Write("a", "a\n", "b", "b\n")
			s.Commit()
			if !row.loses(t, s) {
				t.Errorf("go-git keeps them now: can it replace %s?", row.instead)
			}
		})
	}
}

// durable is a file system that syncs files, and opens none by a symlink.
type durable struct{ billy.Filesystem }

func (d durable) OpenFile(name string, flag int, perm os.FileMode) (billy.File, error) {
	f, err := d.Filesystem.OpenFile(name, flag|syscall.O_NOFOLLOW, perm)
	return durableFile{f}, err
}

func (d durable) Create(name string) (billy.File, error) {
	return d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

func (d durable) TempFile(dir, prefix string) (billy.File, error) {
	f, err := d.Filesystem.TempFile(dir, prefix)
	return durableFile{f}, err
}

type durableFile struct{ billy.File }

func (f durableFile) Close() error {
	return errors.Join(f.File.(interface{ Sync() error }).Sync(), f.File.Close())
}

// storage opens a repository as go-git does.
func storage(s *gittest.Sandbox, wrap func(billy.Filesystem) billy.Filesystem) *filesystem.Storage {
	var fs billy.Filesystem = durable{osfs.New(filepath.Join(s.Root, ".git"), osfs.WithBoundOS())}
	if wrap != nil {
		fs = wrap(fs)
	}
	return filesystem.NewStorage(fs, cache.NewObjectLRUDefault())
}

// hooked is a file system that calls functions before it locks and writes files.
type hooked struct {
	billy.Filesystem
	lock, write func(name string) error
}

func (h hooked) OpenFile(name string, flag int, perm os.FileMode) (billy.File, error) {
	f, err := h.Filesystem.OpenFile(name, flag, perm)
	return hookedFile{f, name, h}, err
}

func (h hooked) Create(name string) (billy.File, error) {
	f, err := h.Filesystem.Create(name)
	return hookedFile{f, name, h}, err
}

type hookedFile struct {
	billy.File
	name string
	fs   hooked
}

func (f hookedFile) Lock() error {
	if f.fs.lock != nil {
		if err := f.fs.lock(f.name); err != nil {
			return err
		}
	}
	return f.File.Lock()
}

func (f hookedFile) Write(p []byte) (int, error) {
	if f.fs.write != nil {
		if err := f.fs.write(f.name); err != nil {
			return 0, err
		}
	}
	return f.File.Write(p)
}

func branch(name, hash string) *plumbing.Reference {
	return plumbing.NewHashReference(plumbing.NewBranchReferenceName(name), plumbing.NewHash(hash))
}

func rewriteIndex(s *gittest.Sandbox) error {
	st := storage(s, nil)
	idx, err := st.Index()
	if err != nil {
		return err
	}
	return st.SetIndex(idx)
}

func losesIndexFlags(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	s.Run("update-index", "--assume-unchanged", "a")
	before := s.Run("ls-files", "-v")
	must(t, rewriteIndex(s))
	return s.Run("ls-files", "-v") != before
}

func losesSplitIndex(_ *testing.T, s *gittest.Sandbox) bool {
	s.Run("update-index", "--split-index")
	return rewriteIndex(s) != nil || s.Run("ls-files") != "a\nb"
}

func losesIndexLock(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.Root, ".git/index.lock"), nil, 0o600))
	return rewriteIndex(s) == nil
}

func losesReflog(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	repo, err := git.PlainOpen(s.Root)
	must(t, err)
	w, err := repo.Worktree()
	must(t, err)
	_, err = w.Commit("more", &git.CommitOptions{AllowEmptyCommits: true, Author: &object.Signature{Name: "A", Email: "a@example.com", When: gittest.TestTime}})
	must(t, err)
	return strings.Count(s.Run("rev-list", "HEAD"), "\n") != strings.Count(s.Run("reflog"), "\n")
}

func losesIncluded(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	s.Write(".git/more", "[user]\n\tname = included\n")
	s.Run("config", "include.path", "more")
	if name := s.Run("config", "user.name"); name != "included" {
		t.Fatalf("git reads %q", name)
	}
	repo, err := git.PlainOpen(s.Root)
	must(t, err)
	c, err := repo.ConfigScoped(config.LocalScope)
	must(t, err)
	return c.User.Name != "included"
}

// addAll adds all changes as go-git does.
func addAll(t *testing.T, s *gittest.Sandbox) {
	t.Helper()
	repo, err := git.PlainOpen(s.Root)
	must(t, err)
	w, err := repo.Worktree()
	must(t, err)
	must(t, w.AddWithOptions(&git.AddOptions{All: true}))
}

func losesLineEndings(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	s.Write(".gitattributes", "* text\n", "a", "one\r\ntwo\r\n")
	addAll(t, s)
	return strings.Contains(s.Run("cat-file", "blob", ":a"), "\r")
}

func losesExclude(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	s.Write(".git/info/exclude", "secret\n", "secret", "x\n")
	addAll(t, s)
	return strings.Contains(s.Run("ls-files"), "secret")
}

func losesAttributes(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	const line = "[!b]* special"
	s.Write(".gitattributes", line+"\n")
	if out := s.Run("check-attr", "special", "a"); !strings.HasSuffix(out, "special: set") {
		t.Fatal(out)
	}
	lines, err := gitattributes.ReadAttributes(strings.NewReader(line), nil, false)
	must(t, err)
	found, _ := gitattributes.NewMatcher(lines).Match([]string{"a"}, nil)
	return found["special"] == nil || !found["special"].IsSet()
}

func losesBinary(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	return losesInPatch(t, s, "image", binaryText)
}

func losesNames(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	return losesInPatch(t, s, "two\nlines", "x\n")
}

// losesInPatch applies the patch of a new file where its content is unknown.
func losesInPatch(t *testing.T, s *gittest.Sandbox, name, content string) bool {
	t.Helper()
	clone := s.At(filepath.Join(s.Home, "clone"))
	s.Run("clone", "-q", s.Root, clone.Root)
	before := s.Run("rev-parse", "HEAD")
	s.Write(name, content)
	after := s.Commit()
	repo, err := git.PlainOpen(s.Root)
	must(t, err)
	from, err := repo.CommitObject(plumbing.NewHash(before))
	must(t, err)
	to, err := repo.CommitObject(plumbing.NewHash(after))
	must(t, err)
	patch, err := from.Patch(to)
	if err != nil {
		t.Log(err)
		return true
	}
	apply := clone.Command("apply", "--index")
	apply.Stdin = strings.NewReader(patch.String())
	return apply.Run() != nil || clone.Run("write-tree") != s.Run("rev-parse", after+"^{tree}")
}

func losesAlternates(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	clone := s.At(filepath.Join(s.Home, "clone"))
	s.Run("clone", "-q", "--shared", s.Root, clone.Root)
	repo, err := git.PlainOpen(clone.Root)
	must(t, err)
	_, err = repo.CommitObject(plumbing.NewHash(clone.Run("rev-parse", "HEAD")))
	return err != nil
}

// losesMemory: an index is in memory with its pack's objects by offset. Ours is read where an object is looked up.
func losesMemory(t *testing.T, _ *gittest.Sandbox) bool {
	t.Helper()
	const objects = 200_000
	file := indexOf(t, objects)
	before := used()
	idx := idxfile.NewMemoryIndex()
	must(t, idxfile.NewDecoder(bytes.NewReader(file)).Decode(idx))
	_, err := idx.FindHash(12)
	must(t, err)
	n := (used() - before) / objects
	runtime.KeepAlive(idx)
	runtime.KeepAlive(file)
	t.Logf("%d bytes for an object", n)
	return n > 40
}

// indexOf returns the index of a pack.
func indexOf(t *testing.T, objects uint64) []byte {
	t.Helper()
	w := &idxfile.Writer{}
	for i := range objects {
		w.Add(plumbing.ComputeHash(plumbing.BlobObject, fmt.Append(nil, i)), 12+20*i, 0)
	}
	must(t, w.OnFooter(plumbing.ZeroHash))
	idx, err := w.Index()
	must(t, err)
	var file bytes.Buffer
	_, err = idxfile.NewEncoder(&file).Encode(idx)
	must(t, err)
	return file.Bytes()
}

// used returns how much memory is in use.
func used() int64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc) //nolint:gosec // a size
}

// losesHashes exchanges the contents of two objects, as a damaged disk might.
func losesHashes(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	file := func(name string) string {
		hash := s.Run("rev-parse", "HEAD:"+name)
		return filepath.Join(s.Root, ".git/objects", hash[:2], hash[2:])
	}
	hash := plumbing.NewHash(s.Run("rev-parse", "HEAD:a"))
	must(t, os.Rename(file("b"), file("a")))
	_, err := storage(s, nil).EncodedObject(plumbing.BlobObject, hash)
	return err == nil
}

func losesSparse(_ *testing.T, s *gittest.Sandbox) bool {
	s.Run("sparse-checkout", "set", "dir")
	_, err := git.PlainOpen(s.Root)
	return err != nil
}

// newCommit makes a commit that no branch leads to.
func newCommit(s *gittest.Sandbox) string {
	return s.Run("commit-tree", "-m", "new", "-p", "HEAD", "HEAD^{tree}")
}

// losesToPackRefs: git packs the branch after go-git has opened its file, and removes that.
func losesToPackRefs(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	first, next := s.Run("rev-parse", "HEAD"), newCommit(s)
	st := storage(s, func(fs billy.Filesystem) billy.Filesystem {
		return hooked{Filesystem: fs, lock: func(string) error { s.Run("pack-refs", "--all"); return nil }}
	})
	must(t, st.CheckAndSetReference(branch("main", next), branch("main", first)))
	return s.Run("rev-parse", "main") == first
}

// losesTorn looks at the branch when the process could be killed.
func losesTorn(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	first, next := s.Run("rev-parse", "HEAD"), newCommit(s)
	lost := false
	st := storage(s, func(fs billy.Filesystem) billy.Filesystem {
		return hooked{Filesystem: fs, write: func(string) error {
			lost = s.Command("rev-parse", "--verify", "-q", "main").Run() != nil
			return nil
		}}
	})
	must(t, st.CheckAndSetReference(branch("main", next), branch("main", first)))
	return lost
}

func losesRefLock(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.Root, ".git/refs/heads/main.lock"), nil, 0o600))
	return storage(s, nil).SetReference(branch("main", newCommit(s))) == nil
}

func losesRoom(_ *testing.T, s *gittest.Sandbox) bool {
	s.Run("branch", "topic/one")
	s.Run("pack-refs", "--all")
	return storage(s, nil).SetReference(branch("topic", newCommit(s))) == nil && s.Command("update-ref", "refs/heads/topic/one", newCommit(s)).Run() != nil
}

// losesCreation: without an old value the branch of somebody else is overwritten, and with a zero one, which
// means in git that it must not exist, none is created.
func losesCreation(_ *testing.T, s *gittest.Sandbox) bool {
	return storage(s, nil).CheckAndSetReference(branch("new", newCommit(s)), branch("new", "")) != nil
}

func losesEmptyDirectory(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(s.Root, ".git/refs/heads/topic/one"), 0o755))
	return storage(s, nil).SetReference(branch("topic", newCommit(s))) != nil
}

func blob(t *testing.T, text string) *plumbing.MemoryObject {
	t.Helper()
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.BlobObject)
	_, err := o.Write([]byte(text))
	must(t, err)
	return o
}

// losesOldObjects: git gc removes objects of its age that no reference leads to. git makes one that is
// written again as new as that.
func losesOldObjects(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	st := storage(s, nil)
	hash, err := st.SetEncodedObject(blob(t, "again\n"))
	must(t, err)
	name := filepath.Join(s.Root, ".git/objects", hash.String()[:2], hash.String()[2:])
	must(t, os.Chtimes(name, time.Time{}, gittest.TestTime))
	_, err = st.SetEncodedObject(blob(t, "again\n"))
	must(t, err)
	s.Run("gc", "-q")
	return s.Command("cat-file", "-e", hash.String()).Run() != nil
}

// packOf returns a pack of one object.
func packOf(t *testing.T, o plumbing.EncodedObject) (hash plumbing.Hash, pack []byte) {
	t.Helper()
	st := memory.NewStorage()
	hash, err := st.SetEncodedObject(o)
	must(t, err)
	var out bytes.Buffer
	_, err = packfile.NewEncoder(&out, st, false).Encode([]plumbing.Hash{hash}, 0)
	must(t, err)
	return hash, out.Bytes()
}

func writePack(t *testing.T, st *filesystem.Storage, pack []byte) error {
	t.Helper()
	w, err := st.PackfileWriter()
	must(t, err)
	_, err = w.Write(pack)
	must(t, err)
	return w.Close()
}

// losesPacks: a pack has no .keep file until the branch leads to it.
func losesPacks(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	hash, pack := packOf(t, blob(t, "new\n"))
	must(t, writePack(t, storage(s, nil), pack))
	s.Run("cat-file", "-e", hash.String())
	s.Run("gc", "-q", "--prune=now")
	return s.Command("cat-file", "-e", hash.String()).Run() != nil
}

// losesAfterFullDisk: the index of the pack has its final name before its content, and is not written again
// if it exists.
func losesAfterFullDisk(t *testing.T, s *gittest.Sandbox) bool {
	t.Helper()
	hash, pack := packOf(t, blob(t, "new\n"))
	full := errors.New("no space left on device")
	err := writePack(t, storage(s, func(fs billy.Filesystem) billy.Filesystem {
		return hooked{Filesystem: fs, write: func(name string) error {
			if strings.HasSuffix(name, ".idx") {
				return full
			}
			return nil
		}}
	}), pack)
	if !errors.Is(err, full) {
		t.Fatalf("on a full disk: %v", err)
	}
	must(t, writePack(t, storage(s, nil), pack))
	return s.Command("cat-file", "-e", hash.String()).Run() != nil
}

// losesStreams: the encoder encodes objects that a store has, all at once. What is read from the working tree,
// once, had to be in memory until then.
func losesStreams(*testing.T, *gittest.Sandbox) bool {
	return reflect.TypeFor[*packfile.Encoder]().NumMethod() == 1
}
