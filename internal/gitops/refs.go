package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
)

const branchPrefix = "refs/heads/"

// Head is what a work tree has checked out.
type Head struct {
	Hash     string // of the commit; "" if Unborn
	Branch   string // without refs/heads/; "" if Detached
	Detached bool
	Unborn   bool // the branch has no commit yet
}

// Head returns what is checked out now.
func (r *Repo) Head() (Head, error) {
	if r.bare() {
		return Head{}, fmt.Errorf("read HEAD: %w", errBare)
	}
	target, hash, err := r.readHead()
	if err != nil {
		return Head{}, err
	}
	if target == "" {
		return Head{Hash: hash.String(), Detached: true}, nil
	}
	head := Head{Branch: strings.TrimPrefix(target, branchPrefix)}
	hash, ok, err := r.readRef(target)
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if head.Unborn = !ok; ok {
		head.Hash = hash.String()
	}
	return head, nil
}

// readHead returns the reference that HEAD names, or the commit if it is detached.
func (r *Repo) readHead() (target string, hash plumbing.Hash, err error) {
	data, err := readFile(filepath.Join(r.gitDir, "HEAD"))
	if err != nil {
		return "", plumbing.ZeroHash, fmt.Errorf("read HEAD: %w", err)
	}
	line := strings.TrimSpace(string(data))
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		target = strings.TrimSpace(target)
		if !strings.HasPrefix(target, branchPrefix) || ValidBranch(strings.TrimPrefix(target, branchPrefix)) != nil {
			return "", plumbing.ZeroHash, fmt.Errorf("HEAD names %q, which is not a branch", target)
		}
		return target, plumbing.ZeroHash, nil
	}
	if !plumbing.IsHash(line) {
		return "", plumbing.ZeroHash, fmt.Errorf("HEAD holds %q, neither a branch nor a commit", line)
	}
	return "", plumbing.NewHash(line), nil
}

// BranchHash returns the commit of a branch. The error matches ErrBranchExists
// if the name can't be used because of another branch: millhand/x has no place
// beside a branch millhand.
func (r *Repo) BranchHash(name string) (hash string, exists bool, err error) {
	h, ok, err := r.readRef(branchPrefix + name)
	if err == nil && !ok {
		err = r.checkRoom(branchPrefix + name)
	}
	if err != nil {
		return "", false, fmt.Errorf("branch %s: %w", name, err)
	}
	if !ok {
		return "", false, nil
	}
	return h.String(), true, nil
}

// readRef returns what a reference holds: its own file, or its line in
// packed-refs. References to references are not followed but refused.
func (r *Repo) readRef(name string) (plumbing.Hash, bool, error) {
	data, err := readFile(filepath.Join(r.commonDir, filepath.FromSlash(name)))
	if err == nil {
		line := strings.TrimSpace(string(data))
		if !plumbing.IsHash(line) {
			return plumbing.ZeroHash, false, fmt.Errorf("%s holds %q, not a commit", name, line)
		}
		return plumbing.NewHash(line), true, nil
	}
	if !absent(err) && !isDir(filepath.Join(r.commonDir, filepath.FromSlash(name))) {
		return plumbing.ZeroHash, false, err
	}
	packed, err := r.packedRefs()
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	hash, ok := packed[name]
	return hash, ok, nil
}

// packedRefs reads the references that have no file of their own.
func (r *Repo) packedRefs() (map[string]plumbing.Hash, error) {
	data, err := readFile(filepath.Join(r.commonDir, "packed-refs"))
	if err != nil && !absent(err) {
		return nil, err
	}
	refs := map[string]plumbing.Hash{}
	for line := range bytes.Lines(data) {
		hash, name, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
		if ok && plumbing.IsHash(hash) {
			refs[name] = plumbing.NewHash(hash)
		}
	}
	return refs, nil
}

// absent reports that a path does not exist, also because a part of it is a file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// checkRoom fails if another reference is a directory of the name, or the other way
// round.
func (r *Repo) checkRoom(name string) error {
	packed, err := r.packedRefs()
	if err != nil {
		return err
	}
	taken := func(other string) error {
		return fmt.Errorf("%s leaves no room for %s: %w", other, name, ErrBranchExists)
	}
	for other := range packed {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return taken(other)
		}
	}
	for dir := filepath.Dir(name); len(dir) >= len(branchPrefix); dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(r.commonDir, dir))
		if err == nil && !info.IsDir() {
			return taken(filepath.ToSlash(dir))
		}
	}
	return r.checkBelow(name, taken)
}

// checkBelow fails if there is a reference in the directory of a reference's name.
func (r *Repo) checkBelow(name string, taken func(string) error) error {
	top := filepath.Join(r.commonDir, filepath.FromSlash(name))
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if absent(err) {
			return nil
		}
		if err != nil || d.IsDir() || path == top {
			return err
		}
		rel, err := filepath.Rel(r.commonDir, path)
		if err != nil {
			return err
		}
		return taken(filepath.ToSlash(rel))
	})
}

// expectation is what a reference must hold for an update to go ahead.
type expectation struct {
	absent   bool          // the reference may be missing
	anywhere bool          // or hold anything
	hash     plumbing.Hash // or hold this; zero for nothing
	taken    error         // what it is if the reference must be missing but exists
}

func (e expectation) check(name string, now plumbing.Hash, exists bool) error {
	switch {
	case !exists && e.absent, exists && e.anywhere, exists && !e.hash.IsZero() && now == e.hash:
		return nil
	case exists && e.hash.IsZero():
		return fmt.Errorf("%s is at %s: %w", name, now, e.taken)
	case exists:
		return fmt.Errorf("%s is at %s, not at %s: %w", name, now, e.hash, ErrConflict)
	}
	return fmt.Errorf("%s is gone, it was at %s: %w", name, e.hash, ErrConflict)
}

// refUpdate is a reference that is locked and was found to be as expected.
type refUpdate struct {
	name string
	old  plumbing.Hash // zero if it did not exist
	lock *lockFile
}

// lockBranch locks a branch, given with refs/heads/, and compares it with what
// is expected.
func (r *Repo) lockBranch(ctx context.Context, name string, want expectation) (*refUpdate, error) {
	file := filepath.Join(r.commonDir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		if roomErr := r.checkRoom(name); roomErr != nil {
			return nil, roomErr
		}
		return nil, err
	}
	l, err := lock(ctx, file, r.env)
	if err != nil {
		return nil, err
	}
	old, err := r.compareRef(name, want)
	if err != nil {
		l.release()
		return nil, err
	}
	return &refUpdate{name: name, old: old, lock: l}, nil
}

func (r *Repo) compareRef(name string, want expectation) (plumbing.Hash, error) {
	now, exists, err := r.readRef(name)
	if err != nil {
		return now, err
	}
	if err := want.check(name, now, exists); err != nil {
		return now, err
	}
	if !exists {
		return now, r.checkRoom(name)
	}
	return now, nil
}

// lockDetachedHead locks HEAD, which must hold a commit itself; any one if the
// expected hash is zero.
func (r *Repo) lockDetachedHead(ctx context.Context, want plumbing.Hash, env Env) (*refUpdate, error) {
	l, err := lock(ctx, filepath.Join(r.gitDir, "HEAD"), env)
	if err != nil {
		return nil, err
	}
	target, now, err := r.readHead()
	switch {
	case err != nil:
	case target != "":
		err = fmt.Errorf("HEAD is on %s now: %w", target, ErrConflict)
	case !want.IsZero() && now != want:
		err = fmt.Errorf("HEAD is at %s, not at %s: %w", now, want, ErrConflict)
	}
	if err != nil {
		l.release()
		return nil, err
	}
	return &refUpdate{name: "HEAD", old: now, lock: l}, nil
}

// set writes the new commit and gives the lock up.
func (u *refUpdate) set(hash plumbing.Hash) error {
	if err := u.lock.write([]byte(hash.String() + "\n")); err != nil {
		return fmt.Errorf("write %s: %w", u.name, err)
	}
	removeEmptyDirs(u.lock.target)
	if err := u.lock.commit(); err != nil {
		return fmt.Errorf("write %s: %w", u.name, err)
	}
	return nil
}

func (u *refUpdate) release() {
	if u != nil {
		u.lock.release()
	}
}

// removeEmptyDirs removes a directory that holds nothing but directories, which is what
// deleted branches leave behind.
func removeEmptyDirs(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeEmptyDirs(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir) // fails if it is not empty, as it should
}
