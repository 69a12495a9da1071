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

	"github.com/go-git/go-git/v5/plumbing"
)

// AddWorktree makes a linked worktree in a directory that is missing or empty, with a
// detached HEAD at a commit. Filters are not run (files of Git LFS stay pointers), and line
// endings follow the repository's attributes and configuration only. The git
// program is used where there is one and the repository's configuration leaves it harmless, since
// it is faster; otherwise, or if it fails, the files are written by this package,
// with line endings as they are stored.
func (r *Repo) AddWorktree(ctx context.Context, dir, commit string) (*Repo, error) {
	wt, err := r.addWorktree(ctx, dir, commit)
	if err != nil {
		return nil, fmt.Errorf("make worktree %s of %s: %w", dir, r.commonDir, err)
	}
	return wt, nil
}

func (r *Repo) addWorktree(ctx context.Context, dir, commit string) (*Repo, error) {
	if !plumbing.IsHash(commit) {
		return nil, fmt.Errorf("%q is not the hash of a commit", commit)
	}
	dir, err := emptyDirectory(dir)
	if err != nil {
		return nil, err
	}
	settings, harmless, err := r.gitSettings()
	if err != nil {
		return nil, err
	}
	var withGit error
	if r.env.GitProgram != "" && harmless {
		if withGit = r.addWithGit(ctx, settings, dir, commit); withGit == nil {
			return r.openAdded(dir)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(withGit, r.RemoveWorktree(ctx, dir))
		}
		if err := r.RemoveWorktree(ctx, dir); err != nil {
			return nil, errors.Join(withGit, err)
		}
	}
	if err := r.addByHand(ctx, dir, plumbing.NewHash(commit)); err != nil {
		return nil, errors.Join(withGit, err, r.RemoveWorktree(ctx, dir))
	}
	return r.openAdded(dir)
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

func (r *Repo) openAdded(dir string) (*Repo, error) {
	wt, err := Open(dir, r.env)
	if err == nil && (wt.root != dir || wt.commonDir != r.commonDir) {
		err = fmt.Errorf("it belongs to %s, not to %s", wt.commonDir, r.commonDir)
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added[dir] = wt.gitDir
	return wt, nil
}

// addByHand makes a worktree without the git program.
func (r *Repo) addByHand(ctx context.Context, dir string, commit plumbing.Hash) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	gitDir, err := r.register(dir, commit)
	if err != nil {
		return err
	}
	root, err := r.objects.rootTree(commit)
	if err != nil {
		return err
	}
	idx, err := r.checkout(ctx, dir, root)
	if err != nil {
		return err
	}
	l, err := lock(ctx, filepath.Join(gitDir, "index"), r.env)
	if err != nil {
		return err
	}
	defer l.release()
	if err := l.write(idx.encode()); err != nil {
		return err
	}
	return l.commit()
}

// register makes the files by which a worktree and its repository know of each
// other, and returns the worktree's git directory.
func (r *Repo) register(dir string, commit plumbing.Hash) (string, error) {
	gitDir, err := newDirectory(filepath.Join(r.commonDir, "worktrees", registeredName(dir)))
	if err != nil {
		return "", err
	}
	pointer := filepath.Join(dir, ".git")
	for _, f := range []struct{ name, text string }{
		{filepath.Join(gitDir, "gitdir"), pointer},
		{filepath.Join(gitDir, "commondir"), "../.."},
		{filepath.Join(gitDir, "HEAD"), commit.String()},
		{pointer, "gitdir: " + gitDir},
	} {
		if err := os.WriteFile(f.name, []byte(f.text+"\n"), 0o666); err != nil {
			return "", err
		}
	}
	return gitDir, nil
}

// registeredName returns a name for a worktree that can stand in a reference, as
// git wants it.
func registeredName(dir string) string {
	name := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, filepath.Base(dir))
	return "w" + name
}

// newDirectory makes a directory of the name, with a number at its end if it is taken. The
// directory that it is in is made, too; somebody else may be removing that because it
// is empty.
func newDirectory(name string) (string, error) {
	const mostTries = 100_000
	one := name
	for n := range mostTries {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return "", err
		}
		err := os.Mkdir(one, 0o777)
		switch {
		case errors.Is(err, fs.ErrExist):
			one = name + strconv.Itoa(n+1)
		case !errors.Is(err, fs.ErrNotExist):
			return one, err
		}
	}
	return "", fmt.Errorf("%s is taken, with any number at its end", name)
}

// RemoveWorktree removes a linked worktree's directory, whatever is in it, and
// what the repository knows of it. Nothing of it need be left, and it may have been
// tampered with. The context does not stop it: it has to clean up after a run that was
// cancelled, too.
func (r *Repo) RemoveWorktree(_ context.Context, dir string) error {
	if err := r.removeWorktree(dir); err != nil {
		return fmt.Errorf("remove worktree %s: %w", dir, err)
	}
	return nil
}

func (r *Repo) removeWorktree(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	for _, needed := range []string{r.root, r.commonDir} {
		if needed == "" {
			continue
		}
		if rel, err := filepath.Rel(dir, needed); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s is in it", needed)
		}
	}
	errs := []error{removeAll(dir)}
	for _, gitDir := range r.registrations(dir) {
		errs = append(errs, removeAll(gitDir))
	}
	if !r.mirror {
		_ = os.Remove(filepath.Join(r.commonDir, "worktrees")) // once the last is gone
	}
	return errors.Join(errs...)
}

// registrations returns the git directories of a worktree: the one that it got when
// it was made here, and those that say that they are its. Each is there once: as soon as
// it is removed, somebody else may get its name.
func (r *Repo) registrations(dir string) []string {
	found := map[string]bool{}
	r.mu.Lock()
	if gitDir, ok := r.added[dir]; ok {
		found[gitDir] = !ofAnother(gitDir, dir)
		delete(r.added, dir)
	}
	r.mu.Unlock()
	all := filepath.Join(r.commonDir, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		entries = nil // there are none
	}
	for _, e := range entries {
		gitDir := filepath.Join(all, e.Name())
		pointer, err := readPointer(filepath.Join(gitDir, "gitdir"), "")
		if err == nil && pointer == filepath.Join(dir, ".git") && gitDir != r.gitDir {
			found[gitDir] = true
		}
	}
	maps.DeleteFunc(found, func(_ string, ours bool) bool { return !ours })
	return slices.Collect(maps.Keys(found))
}

// ofAnother reports whether a git directory and another worktree name each other: an
// agent removed the directory, and its name was given away again.
func ofAnother(gitDir, dir string) bool {
	pointer, err := readPointer(filepath.Join(gitDir, "gitdir"), "")
	if err != nil || pointer == filepath.Join(dir, ".git") {
		return false
	}
	back, err := readPointer(pointer, "gitdir:")
	return err == nil && back == gitDir
}

// removeAll removes a directory even if directories in it are write-protected.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			err = os.Chmod(path, 0o700)
		}
		return ignoreMissing(err)
	})
	return errors.Join(os.RemoveAll(dir), ignoreMissing(err))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
