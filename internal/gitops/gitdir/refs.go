package gitdir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
)

// Where references are. A mirror has its remote's branches under OriginPrefix.
const (
	BranchPrefix = "refs/heads/"
	TagPrefix    = "refs/tags/"
	OriginPrefix = "refs/remotes/origin/"
)

// Head is the checked out branch or commit of a working tree.
type Head struct {
	Hash     string // of the commit; "" if Unborn
	Branch   string // without refs/heads/; "" if Detached
	Detached bool
	Unborn   bool // the branch has no commit yet
}

// Head returns the current branch or commit.
func (d *Dir) Head() (Head, error) {
	if d.Bare() {
		return Head{}, fmt.Errorf("read HEAD: %w", ErrBare)
	}
	target, hash, err := d.ReadHead()
	if err != nil {
		return Head{}, err
	}
	if target == "" {
		return Head{Hash: hash.String(), Detached: true}, nil
	}
	head := Head{Branch: strings.TrimPrefix(target, BranchPrefix)}
	hash, ok, err := d.readRef(target)
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if head.Unborn = !ok; ok {
		head.Hash = hash.String()
	}
	return head, nil
}

// ReadHead returns the reference that HEAD names, or the commit if it is detached.
func (d *Dir) ReadHead() (target string, hash plumbing.Hash, err error) {
	data, err := sharedfile.Read(filepath.Join(d.Own, "HEAD"))
	if err != nil {
		return "", plumbing.ZeroHash, fmt.Errorf("read HEAD: %w", err)
	}
	line := strings.TrimSpace(string(data))
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		target = strings.TrimSpace(target)
		if !strings.HasPrefix(target, BranchPrefix) || ValidBranch(strings.TrimPrefix(target, BranchPrefix)) != nil {
			return "", plumbing.ZeroHash, fmt.Errorf("HEAD points to %q, which is not a branch", target)
		}
		return target, plumbing.ZeroHash, nil
	}
	if !plumbing.IsHash(line) {
		return "", plumbing.ZeroHash, fmt.Errorf("HEAD contains %q, which is neither a branch nor a commit", line)
	}
	return "", plumbing.NewHash(line), nil
}

// Branch returns the commit of a branch. The error matches ErrBranchExists
// if the name can't be used because of another branch: millhand/x has no place
// beside a branch millhand.
func (d *Dir) Branch(name string) (hash string, exists bool, err error) {
	h, ok, err := d.readRef(BranchPrefix + name)
	if err == nil && !ok {
		err = d.checkRoom(BranchPrefix + name)
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
func (d *Dir) readRef(name string) (plumbing.Hash, bool, error) {
	data, err := sharedfile.Read(filepath.Join(d.Common, filepath.FromSlash(name)))
	if err == nil {
		line := strings.TrimSpace(string(data))
		if !plumbing.IsHash(line) {
			return plumbing.ZeroHash, false, fmt.Errorf("%s contains %q, not a commit", name, line)
		}
		return plumbing.NewHash(line), true, nil
	}
	if !sharedfile.Absent(err) && !isDir(filepath.Join(d.Common, filepath.FromSlash(name))) {
		return plumbing.ZeroHash, false, err
	}
	packed, err := d.PackedRefs()
	if err != nil {
		return plumbing.ZeroHash, false, err
	}
	hash, ok := packed[name]
	return hash, ok, nil
}

// PackedRefs reads the references that have no file of their own.
func (d *Dir) PackedRefs() (map[string]plumbing.Hash, error) {
	data, err := sharedfile.Read(filepath.Join(d.Common, "packed-refs"))
	if err != nil && !sharedfile.Absent(err) {
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

// Refs returns all references that hold an object's id themselves, by their full names.
// The files come first: git pack-refs removes one after it has written its line.
func (d *Dir) Refs() (map[string]plumbing.Hash, error) {
	loose, err := d.looseRefs("refs")
	if err != nil {
		return nil, err
	}
	refs, err := d.PackedRefs()
	maps.Copy(refs, loose)
	return refs, err
}

// looseRefs returns the references that are files below a directory.
func (d *Dir) looseRefs(dir string) (map[string]plumbing.Hash, error) {
	loose := map[string]plumbing.Hash{}
	top := filepath.Join(d.Common, dir)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if sharedfile.Absent(err) || err == nil && !e.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := sharedfile.Read(path)
		if line := string(bytes.TrimSpace(data)); err == nil && plumbing.IsHash(line) {
			rel, err := filepath.Rel(d.Common, path)
			if err != nil {
				return err
			}
			loose[filepath.ToSlash(rel)] = plumbing.NewHash(line)
		}
		return sharedfile.IgnoreMissing(err)
	})
	return loose, err
}

// replacePrefix is where git keeps replacements of objects, by the hash of the
// original.
const replacePrefix = "refs/replace/"

// replacements returns the objects that git reads instead of others (git-replace);
// none if core.useReplaceRefs switches them off.
func (d *Dir) replacements() (map[plumbing.Hash]plumbing.Hash, error) {
	if !d.Config.boolean("core", "usereplacerefs", true) {
		return nil, nil
	}
	refs, err := d.looseRefs(replacePrefix)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", replacePrefix, err)
	}
	packed, err := sharedfile.ReadOptional(filepath.Join(d.Common, "packed-refs"))
	if err != nil {
		return nil, err
	}
	if bytes.Contains(packed, []byte(" "+replacePrefix)) {
		all, err := d.PackedRefs()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, refs)
		refs = all
	}
	replaced := map[plumbing.Hash]plumbing.Hash{}
	for name, to := range refs {
		if from, ok := strings.CutPrefix(name, replacePrefix); ok && plumbing.IsHash(from) {
			replaced[plumbing.NewHash(from)] = to
		}
	}
	return replaced, nil
}

// Shallow returns the commits whose parents are missing.
func (d *Dir) Shallow() ([]plumbing.Hash, error) {
	data, err := sharedfile.ReadOptional(filepath.Join(d.Common, "shallow"))
	if err != nil {
		return nil, err
	}
	var list []plumbing.Hash
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); plumbing.IsHash(line) {
			list = append(list, plumbing.NewHash(line))
		}
	}
	return list, nil
}

// checkRoom fails if another reference is a directory of the name, or the other way
// round.
func (d *Dir) checkRoom(name string) error {
	packed, err := d.PackedRefs()
	if err != nil {
		return err
	}
	taken := func(other string) error {
		return fmt.Errorf("branch name conflict: %s exists, so %s can't be created: %w", other, name, ErrBranchExists)
	}
	for other := range packed {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return taken(other)
		}
	}
	for dir := filepath.Dir(name); len(dir) >= len(BranchPrefix); dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(d.Common, dir))
		if err == nil && !info.IsDir() {
			return taken(filepath.ToSlash(dir))
		}
	}
	return d.checkBelow(name, taken)
}

// checkBelow fails if there is a reference in the directory of a reference's name.
func (d *Dir) checkBelow(name string, taken func(string) error) error {
	top := filepath.Join(d.Common, filepath.FromSlash(name))
	return filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if sharedfile.Absent(err) {
			return nil
		}
		if err != nil || e.IsDir() || path == top {
			return err
		}
		rel, err := filepath.Rel(d.Common, path)
		if err != nil {
			return err
		}
		return taken(filepath.ToSlash(rel))
	})
}

// Expectation is the expected value of a reference to update.
type Expectation struct {
	Absent   bool          // the reference may be missing
	Anywhere bool          // or have any value
	Hash     plumbing.Hash // or have this value; zero for none
	Taken    error         // what it is if the reference must be missing but exists
}

func (e Expectation) check(name string, now plumbing.Hash, exists bool) error {
	switch {
	case !exists && e.Absent, exists && e.Anywhere, exists && !e.Hash.IsZero() && now == e.Hash:
		return nil
	case exists && e.Hash.IsZero():
		return fmt.Errorf("%s is at %s: %w", name, now, e.Taken)
	case exists:
		return fmt.Errorf("%s is at %s, not at %s: %w", name, now, e.Hash, ErrConflict)
	}
	return fmt.Errorf("%s was deleted, it was at %s: %w", name, e.Hash, ErrConflict)
}

// RefUpdate is a locked reference with the expected value.
type RefUpdate struct {
	Name string
	Old  plumbing.Hash // zero if it did not exist
	lock *LockFile
	next plumbing.Hash // already in the lock; zero for none
}

// LockBranch locks a branch, given with refs/heads/, to move it to a commit, and compares it
// with what is expected. The lock shows the commit; see [Dir.LockedFor].
func (d *Dir) LockBranch(ctx context.Context, name string, next plumbing.Hash, want Expectation) (*RefUpdate, error) {
	l, err := d.lockRefFile(ctx, name, refText(next))
	if err != nil {
		return nil, err
	}
	old, err := d.compareRef(name, want)
	if err != nil {
		l.Release()
		return nil, err
	}
	return &RefUpdate{Name: name, Old: old, lock: l, next: next}, nil
}

// maxPruned is how often a directory of a reference is created while git pack-refs removes it.
const maxPruned = 20

func refText(hash plumbing.Hash) []byte { return []byte(hash.String() + "\n") }

// lockRefFile locks the file of a reference, whose directory it makes. git
// pack-refs, and so git gc, may remove that in between, because it is empty.
func (d *Dir) lockRefFile(ctx context.Context, name string, content []byte) (*LockFile, error) {
	file := filepath.Join(d.Common, filepath.FromSlash(name))
	for n := 1; ; n++ {
		if err := owner.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			if roomErr := d.checkRoom(name); roomErr != nil {
				return nil, roomErr
			}
			if n == maxPruned || !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			continue
		}
		l, err := lock(ctx, file, d.Env, content)
		if n == maxPruned || !errors.Is(err, fs.ErrNotExist) {
			return l, err
		}
	}
}

func (d *Dir) compareRef(name string, want Expectation) (plumbing.Hash, error) {
	now, exists, err := d.readRef(name)
	if err != nil {
		return now, err
	}
	if err := want.check(name, now, exists); err != nil {
		return now, err
	}
	if !exists {
		return now, d.checkRoom(name)
	}
	return now, nil
}

// LockHead locks HEAD, which must hold a commit itself; any one if the
// expected hash is zero.
func (d *Dir) LockHead(ctx context.Context, want plumbing.Hash) (*RefUpdate, error) {
	l, err := Lock(ctx, filepath.Join(d.Own, "HEAD"), d.Env)
	if err != nil {
		return nil, err
	}
	target, now, err := d.ReadHead()
	switch {
	case err != nil:
	case target != "":
		err = fmt.Errorf("HEAD is on %s now: %w", target, ErrConflict)
	case !want.IsZero() && now != want:
		err = fmt.Errorf("HEAD is at %s, not at %s: %w", now, want, ErrConflict)
	}
	if err != nil {
		l.Release()
		return nil, err
	}
	return &RefUpdate{Name: "HEAD", Old: now, lock: l}, nil
}

// Set writes the new commit and releases the lock. Of a branch it is the commit that it was
// locked for.
func (u *RefUpdate) Set(hash plumbing.Hash) error {
	if hash != u.next {
		if err := u.lock.Write(refText(hash)); err != nil {
			return fmt.Errorf("write %s: %w", u.Name, err)
		}
	}
	removeEmptyDirs(u.lock.target)
	if err := u.lock.Commit(); err != nil {
		return fmt.Errorf("write %s: %w", u.Name, err)
	}
	return nil
}

// Release releases the lock unless Set did. It may be called on nil.
func (u *RefUpdate) Release() {
	if u != nil {
		u.lock.Release()
	}
}

// removeEmptyDirs removes a directory that contains only empty directories, as
// deleted branches leave.
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
