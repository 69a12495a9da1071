package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// AddWorktree makes a linked worktree in a directory that is missing or empty, with a
// detached HEAD at a commit. Filters are not run (files of Git LFS stay pointers), and line
// endings follow the repository's attributes and configuration only. The files are written by this
// package if git would write the same. Otherwise, or if that fails, the git program is used where there
// is one and the repository's configuration leaves it harmless; without it, line endings are as they are stored.
func (r *Repo) AddWorktree(ctx context.Context, dir, commit string) (*Repo, error) {
	failpoint.Hit(failpoint.WorktreeBefore, "")
	wt, err := r.worktrees.add(ctx, r.Reader, dir, commit)
	failpoint.Hit(failpoint.WorktreeAfter, "")
	if err != nil {
		return nil, fmt.Errorf("create worktree %s of %s: %w", dir, r.Git.Common, err)
	}
	wt.packing = r.packing
	return wt, nil
}

// worktrees makes and removes the linked worktrees of a repository.
type worktrees struct {
	git *gitdir.Dir

	mu    sync.Mutex
	added map[string]string // those made here, with their administrative directories
}

func (w *worktrees) add(ctx context.Context, r *state.Reader, dir, commit string) (*Repo, error) {
	if !plumbing.IsHash(commit) {
		return nil, fmt.Errorf("%q is not a commit hash", commit)
	}
	dir, err := emptyDirectory(dir)
	if err != nil {
		return nil, err
	}
	settings, harmless, err := gitSettings(w.git)
	if err != nil {
		return nil, err
	}
	files, unlisted := checkoutOf(r, r, commit)
	byHand := func() error {
		if unlisted != nil {
			return unlisted
		}
		return w.addByHand(ctx, dir, commit, files)
	}
	withGit := func() error { return addWithGit(ctx, w.git, settings, dir, commit) }
	ways := []func() error{byHand}
	switch {
	case w.git.Env.GitProgram == "" || !harmless:
	case unlisted == nil && files.plain():
		ways = append(ways, withGit)
	default:
		ways = []func() error{withGit, byHand}
	}
	var errs []error
	for _, add := range ways {
		err := add()
		if err == nil {
			return w.openAdded(dir)
		}
		removed := w.remove(dir, sharedfile.RemoveAll)
		if errs = append(errs, err, removed); removed != nil || ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// emptyDirectory makes a directory unless it is there, checks that it is empty and
// returns its path without links.
func emptyDirectory(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func (w *worktrees) openAdded(dir string) (*Repo, error) {
	if err := w.configure(dir); err != nil {
		return nil, err
	}
	git, err := w.git.OpenWorktree(dir)
	if err == nil && git.Root != dir {
		err = fmt.Errorf("it is in the work tree %s", git.Root)
	}
	if err == nil {
		err = git.CheckedOut()
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added[dir] = git.Own
	return New(git), nil
}

// configure gives a new worktree the settings of the one it is made from. git copies also those that make
// that one sparse.
func (w *worktrees) configure(dir string) error {
	text, err := w.git.WorktreeConfig()
	if err != nil {
		return err
	}
	own, err := gitdir.Of(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(own, "config.worktree")
	if text == nil {
		return sharedfile.IgnoreMissing(os.Remove(name))
	}
	return os.WriteFile(name, text, 0o666)
}

// addByHand makes a worktree without the git program.
func (w *worktrees) addByHand(ctx context.Context, dir, commit string, files *checkout) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	gitDir := ""
	err := store.DespitePruning(func() (err error) {
		gitDir, err = w.register(dir, commit)
		return err
	})
	if err != nil {
		return err
	}
	return files.write(ctx, dir, gitDir)
}

// register makes the files by which a worktree and its repository know of each
// other, and returns the worktree's git directory. That appears with all its files: git gc
// fails for incomplete ones, and removes them. It belongs to the user of the worktree: git refuses one of
// another user.
func (w *worktrees) register(dir, commit string) (string, error) {
	temporary, err := objectdb.MkdirTemp(filepath.Join(w.git.Common, "objects"))
	if err != nil {
		return "", err
	}
	defer temporary.Close()
	defer os.RemoveAll(temporary.Name())
	unnamed := filepath.Join(temporary.Name(), "worktree") // with the permissions of the user's umask
	if err := os.Mkdir(unnamed, 0o777); err != nil {
		return "", err
	}
	pointer := filepath.Join(dir, ".git")
	for _, f := range []struct{ name, text string }{{"gitdir", pointer}, {"commondir", "../.."}, {"HEAD", commit}} {
		if err := os.WriteFile(filepath.Join(unnamed, f.name), []byte(f.text+"\n"), 0o666); err != nil {
			return "", err
		}
	}
	return nameDirectory(unnamed, filepath.Join(w.git.Common, "worktrees", registeredName(dir)), func(named string) error {
		return os.WriteFile(pointer, []byte("gitdir: "+named+"\n"), 0o666)
	})
}

// registeredName returns a name for a worktree that can stand in a reference, as
// git requires it.
func registeredName(dir string) string {
	name := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, filepath.Base(dir))
	return "w" + name
}

// nameDirectory gives a directory a name, with a number at its end if it is taken, and
// returns it. before is called with each name that is tried. The directory that it gets into is made, too; somebody
// else may be removing that because it is empty.
func nameDirectory(dir, name string, before func(name string) error) (string, error) {
	const maxTries = 100_000
	one := name
	for n := range maxTries {
		err := owner.Mkdir(filepath.Dir(name), 0o777)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err = errors.Join(err, before(one)); err != nil {
			return "", err
		}
		err = os.Rename(dir, one)
		switch {
		case errors.Is(err, fs.ErrExist):
			one = name + strconv.Itoa(n+1)
		case !errors.Is(err, fs.ErrNotExist):
			return one, err
		}
	}
	return "", fmt.Errorf("%s and all its numbered variants are in use", name)
}

// RemoveWorktree removes a linked worktree's directory, whatever is in it, and
// what the repository knows of it. Nothing of it need be left, and it may have been
// tampered with. The context does not stop it: it has to clean up after a run that was
// cancelled, too.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string) error {
	return DiscardWorktree(ctx, r, dir, sharedfile.RemoveAll)
}

// DiscardWorktree is [Repo.RemoveWorktree] with a function that removes the directory, or moves it
// away to be removed later.
func DiscardWorktree(_ context.Context, r *Repo, dir string, discard func(dir string) error) error {
	if err := r.worktrees.remove(dir, discard); err != nil {
		return fmt.Errorf("remove worktree %s: %w", dir, err)
	}
	return nil
}

func (w *worktrees) remove(dir string, discard func(dir string) error) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	for _, needed := range []string{w.git.Root, w.git.Common} {
		if pathtree.Within(needed, dir) {
			return fmt.Errorf("%s is in it", needed)
		}
	}
	failpoint.Hit(failpoint.WorktreeRemoving, "")
	errs := []error{discard(dir)}
	failpoint.Hit(failpoint.WorktreeRemoved, "")
	for _, gitDir := range w.registrations(dir) {
		errs = append(errs, gitdir.RemoveRegistration(gitDir))
	}
	if !w.git.Mirror {
		_ = os.Remove(filepath.Join(w.git.Common, "worktrees")) // once the last is gone
	}
	return errors.Join(errs...)
}

// Worktrees returns the directories of the registered linked worktrees, which can be missing.
func (r *Repo) Worktrees() []string {
	pointers, _ := filepath.Glob(filepath.Join(r.Git.Common, "worktrees", "*", "gitdir"))
	var dirs []string
	for _, name := range pointers {
		if pointer, err := gitdir.ReadPointer(name, ""); err == nil {
			dirs = append(dirs, filepath.Dir(pointer))
		}
	}
	return dirs
}

// registrations returns the git directories of a worktree: the one that it got when
// it was made here, and those that say that they are its. Each is there once: as soon as
// it is removed, somebody else may get its name.
func (w *worktrees) registrations(dir string) []string {
	found := map[string]bool{}
	w.mu.Lock()
	if gitDir, ok := w.added[dir]; ok {
		found[gitDir] = !nameReused(gitDir, dir)
		delete(w.added, dir)
	}
	w.mu.Unlock()
	all := filepath.Join(w.git.Common, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		entries = nil // there are none
	}
	for _, e := range entries {
		gitDir := filepath.Join(all, e.Name())
		pointer, err := gitdir.ReadPointer(filepath.Join(gitDir, "gitdir"), "")
		if err == nil && pointer == filepath.Join(dir, ".git") && gitDir != w.git.Own {
			found[gitDir] = true
		}
	}
	maps.DeleteFunc(found, func(_ string, ours bool) bool { return !ours })
	return slices.Collect(maps.Keys(found))
}

// nameReused reports whether a git directory and another worktree name each other: an
// agent removed the directory, and its name was given away again.
func nameReused(gitDir, dir string) bool {
	pointer, err := gitdir.ReadPointer(filepath.Join(gitDir, "gitdir"), "")
	if err != nil || pointer == filepath.Join(dir, ".git") {
		return false
	}
	back, err := gitdir.ReadPointer(pointer, "gitdir:")
	return err == nil && back == gitDir
}
