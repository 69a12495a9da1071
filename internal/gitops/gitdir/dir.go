package gitdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"weak"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/proc/clock"
)

// Env is the environment that affects git.
type Env struct {
	Home          string        // for ~/.gitconfig and "~/" in paths; "" reads neither
	XDGConfigHome string        // "" means Home/.config
	SystemConfig  string        // the machine's configuration file, often /etc/gitconfig; "" for none
	GitProgram    string        // the git program; "" for none
	LockWait      time.Duration // how long to wait for a lock of another process; 0 means 10 s

	// Now is used for the age of a blocking lock, and of files: without it, every search for
	// changes reads the files that the index does not vouch for. May be nil.
	Now func() time.Time

	Sleep clock.Sleep // between attempts to take a lock, and to find an object in packs that git replaces
}

// Dir is a git directory: that of a work tree, linked or not, or a bare repository.
// Its paths are those of when it was opened, whatever is done to the work tree's
// .git later. Its methods may be called from several goroutines.
type Dir struct {
	Root    string // of the work tree, absolute and with symlinks resolved; "" for a bare repository
	Own     string // holds HEAD and the index
	Common  string // holds objects and branches; Own except in a linked worktree
	Mirror  bool   // its remote's branches are what users mean by names
	Env     Env
	Objects *objectdb.Objects

	Settings Settings
	Config   ConfigFiles // as they were when it was opened, the weakest first

	checkout checkout
	index    *indexCache
}

// Open opens the git directory of the work tree that holds a directory. The error matches
// ErrNotRepository if missing and is an *UnsupportedError if the repository is of
// a kind that can't be handled.
func Open(dir string, env Env) (*Dir, error) {
	at, err := discover(dir)
	if err != nil {
		return nil, err
	}
	return at.open(env, nil)
}

// OpenWorktree opens the git directory of a linked worktree of the repository. Both read objects through the same
// stores and cache, so that jobs neither list its packs nor open their indexes again.
func (d *Dir) OpenWorktree(dir string) (*Dir, error) {
	at, err := discover(dir)
	if err != nil {
		return nil, err
	}
	if at.commonDir != d.Common {
		return nil, fmt.Errorf("%s belongs to %s, not to %s", dir, at.commonDir, d.Common)
	}
	return at.open(d.Env, d.Objects)
}

// OpenAt opens the git directory that a directory is, or has as its .git, without a
// work tree. The errors are those of Open.
func OpenAt(dir string, env Env) (*Dir, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	own, err := Of(dir)
	if err != nil {
		return nil, err
	}
	if own == "" {
		own = dir
	}
	if !isGitDir(own) {
		return nil, ErrNotRepository
	}
	common, err := commonDirOf(own)
	if err != nil {
		return nil, err
	}
	return location{gitDir: own, commonDir: common}.open(env, nil)
}

// open reads the configuration of a git directory, and opens its objects unless they are given.
func (at location) open(env Env, objects *objectdb.Objects) (*Dir, error) {
	local, err := ReadConfigFile(filepath.Join(at.commonDir, "config"))
	if err != nil {
		return nil, err
	}
	if err := checkFormat(local); err != nil {
		return nil, err
	}
	if local, err = localConfig(at.gitDir, at.commonDir); err != nil {
		return nil, err
	}
	if at.root != "" && !at.linked() && local.boolean("core", "bare") {
		return nil, &UnsupportedError{Reason: "repository is bare (core.bare) and has no working tree"}
	}
	d := &Dir{Root: at.root, Own: at.gitDir, Common: at.commonDir, Env: env, index: &indexCache{}}
	if d.Config, err = at.readConfig(env); err != nil {
		return nil, err
	}
	d.Settings = d.Config.settings(env)
	if d.Objects = objects; objects != nil {
		return d, nil
	}
	replaced, err := d.replacements()
	if err != nil {
		return nil, err
	}
	if d.Objects, err = objectdb.Open(filepath.Join(at.commonDir, "objects"), replaced, env.Sleep); err != nil {
		return nil, err
	}
	return d, nil
}

// Linked reports whether it belongs to a linked worktree.
func (d *Dir) Linked() bool { return d.Own != d.Common }

// Bare reports whether the repository has no work tree.
func (d *Dir) Bare() bool { return d.Root == "" }

// OperationInProgress returns the git operation in progress in this working tree:
// "merge", "rebase", "cherry-pick", "revert", "bisect", or "" for none. Commit
// in place fails during one.
func (d *Dir) OperationInProgress() string {
	for _, op := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(d.Own, op.file)); err == nil {
			return op.name
		}
	}
	return ""
}

// Index returns the index as it is on disk, an empty one if missing. It is shared with other
// callers as long as one of them has it and the file is not replaced.
func (d *Dir) Index() (*Index, error) {
	name := filepath.Join(d.Own, "index")
	f, err := sharedfile.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return &Index{version: 2}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	at := StatOf(info)
	if idx := d.index.of(at); idx != nil {
		return idx, nil
	}
	idx, err := readIndexFile(f)
	if err == nil && idx.collapsed {
		err = idx.expand(d.Objects)
	}
	if err != nil {
		return nil, fmt.Errorf("read index %s: %w", name, err)
	}
	if idx.written == d.checkout.index {
		idx.written = d.checkout.time
	}
	d.index.add(at, idx)
	return idx, nil
}

// indexCache has the index that was read last, as long as it is in use anywhere.
type indexCache struct {
	mu   sync.Mutex
	stat Stat // of the file, from before it was read
	last weak.Pointer[Index]
}

// of returns the index of a file; nil if another one was read last, or none is in use.
func (c *indexCache) of(stat Stat) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stat != stat {
		return nil
	}
	return c.last.Value()
}

func (c *indexCache) add(stat Stat, idx *Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stat, c.last = stat, weak.Make(idx)
}

// checkout is when the files of a work tree were checked out. The zero value is unknown.
type checkout struct {
	index written // of the checkout
	time  written // after it, on the device of the files
}

// CheckedOut records that the index describes the work tree as it is now, right after a
// checkout that nothing followed. Without it, files on another device than the index are
// only trusted if they are a second older than it, so that every search for changes reads all that
// were checked out in the last second. It must be called before other goroutines use d.
func (d *Dir) CheckedOut() error {
	pointer := filepath.Join(d.Root, ".git")
	info, err := os.Lstat(pointer)
	if err == nil {
		err = os.Chmod(pointer, info.Mode()) // makes its ctime the present, by the clock of the device
	}
	if err != nil {
		return err
	}
	now, err := os.Lstat(pointer)
	if err != nil {
		return err
	}
	idx, err := d.Index()
	if err != nil {
		return err
	}
	st := StatOf(now)
	d.index = &indexCache{} // it is about to be written at another time
	d.checkout = checkout{index: idx.written, time: written{st.ctimeSec, st.ctimeNsec, st.dev}}
	return nil
}
