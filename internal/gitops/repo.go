package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Env is what git's behaviour takes from the environment.
type Env struct {
	Home          string        // for ~/.gitconfig and "~/" in paths; "" reads neither
	XDGConfigHome string        // "" means Home/.config
	SystemConfig  string        // the machine's configuration file, often /etc/gitconfig; "" for none
	GitProgram    string        // the git program; "" does without
	LockWait      time.Duration // how long to wait for a lock that somebody else holds; 0 means 10 s

	// Now tells how old a lock is that is in the way; nil leaves that out.
	Now func() time.Time
}

// Repo is a git repository with its work tree, or a mirror, which has none: what needs
// a work tree then fails with an *UnsupportedError. It keeps the directories that it
// found when it was opened, whatever is done to the work tree's .git later.
// Its methods may be called from several goroutines.
type Repo struct {
	root      string
	gitDir    string
	commonDir string
	env       Env
	config    settings
	configs   []configFile // as they were when it was opened, the weakest first
	objects   *objectStore
	mirror    bool // its remote's branches are what users mean by names

	mu    sync.Mutex
	added map[string]string // directories of worktrees made here, with their administrative directories
}

// Open opens the repository whose work tree holds the directory. Linked worktrees
// open like any other. The error matches ErrNotRepository if there is none and is an
// *UnsupportedError if the repository is of a kind that can't be handled.
func Open(dir string, env Env) (*Repo, error) {
	r, err := open(dir, env)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	return r, nil
}

func open(dir string, env Env) (*Repo, error) {
	place, err := discover(dir)
	if err != nil {
		return nil, err
	}
	local, err := readConfigFile(filepath.Join(place.commonDir, "config"))
	if err != nil {
		return nil, err
	}
	if err := checkFormat(local); err != nil {
		return nil, err
	}
	if !place.linked() && local.boolean("core", "bare", false) {
		return nil, &UnsupportedError{Reason: "the repository is bare (core.bare), it has no work tree"}
	}
	r := &Repo{
		root: place.root, gitDir: place.gitDir, commonDir: place.commonDir,
		env: env, added: map[string]string{},
	}
	if r.config, r.configs, err = loadSettings(env, local); err != nil {
		return nil, err
	}
	if r.objects, err = openObjects(place.commonDir); err != nil {
		return nil, err
	}
	if _, err := r.readIndex(); err != nil {
		return nil, err
	}
	return r, nil
}

// Root returns the work tree's directory, absolute and with links resolved; "" for a
// mirror.
func (r *Repo) Root() string { return r.root }

// GitDir returns the directory of this work tree's HEAD and index.
func (r *Repo) GitDir() string { return r.gitDir }

// CommonDir returns the directory of the objects and branches, which is GitDir but
// for linked worktrees.
func (r *Repo) CommonDir() string { return r.commonDir }

// linked reports whether this is a linked worktree.
func (r *Repo) linked() bool { return r.gitDir != r.commonDir }

// bare reports whether there is no work tree.
func (r *Repo) bare() bool { return r.root == "" }

// Unfinished returns what git operation is under way in this work tree: "merge",
// "rebase", "cherry-pick", "revert", "bisect", or "" for none. Commit refuses to
// work in place during one.
func (r *Repo) Unfinished() string {
	for _, op := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(r.gitDir, op.file)); err == nil {
			return op.name
		}
	}
	return ""
}

// readIndex returns the index as it is on disk, an empty one if there is none.
func (r *Repo) readIndex() (*index, error) {
	name := filepath.Join(r.gitDir, "index")
	f, err := openFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return &index{version: 2}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	defer f.Close()
	idx, err := readIndexFile(f)
	if err != nil {
		return nil, fmt.Errorf("read index %s: %w", name, err)
	}
	return idx, nil
}
