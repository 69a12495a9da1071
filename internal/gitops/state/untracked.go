package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/dirent"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/proc/parallel"
)

// Untracked is the state of the files of a working tree that programs can read and that
// no commit of it contains: ignored files, files in submodules, in nested repositories
// and in .millhand. It is immutable; nil has no files.
type Untracked struct {
	root  string
	files map[string]stamp
}

// stamp identifies a version of a file. It includes the time of the last change of the
// inode, which programs can't set.
type stamp struct {
	mode uint32
	stat gitdir.Stat
}

// Untracked returns the current state of the files that Changes since a snapshot leaves
// out. Directories that can't be read are skipped, and so are the paths in without,
// slash-separated and relative to the root.
func (r *Reader) Untracked(ctx context.Context, from *Snapshot, without []string) (*Untracked, error) {
	u, err := r.untracked(ctx, from, without)
	if err != nil {
		return nil, fmt.Errorf("list ignored files in %s: %w", r.Git.Root, err)
	}
	return u, nil
}

func (r *Reader) untracked(ctx context.Context, from *Snapshot, without []string) (*Untracked, error) {
	rules, err := r.IgnoreRules()
	if err != nil {
		return nil, err
	}
	tree, err := r.openWorkTree(false)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	w := r.walkFrom(tree, from)
	left := leftOutOf(w)
	if err := w.list(ctx, rules); err != nil {
		return nil, err
	}
	return left.list(ctx, without)
}

// LeftOut is what a search for changes leaves out.
type LeftOut struct {
	mu    sync.Mutex
	files *Untracked
	dirs  []string
}

// leftOutOf records what a walk leaves out.
func leftOutOf(w *walk) *LeftOut {
	l := &LeftOut{files: &Untracked{root: w.reader.Git.Root, files: map[string]stamp{}}}
	w.leftOut = func(in *os.File, path string, isDir bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case path == ".git":
		case isDir:
			l.dirs = append(l.dirs, path)
		default:
			if info, err := gitdir.LstatIn(in, filepath.Base(path)); err == nil { // not removed meanwhile
				l.files.files[path] = stamp{info.Mode, info.Stat}
			}
		}
	}
	return l
}

// Files returns the state of the files that were left out, like [Reader.Untracked]. Those in
// directories are searched for by the first call.
func (l *LeftOut) Files(ctx context.Context, without []string) (*Untracked, error) {
	files, err := l.list(ctx, without)
	if err != nil {
		return nil, fmt.Errorf("list ignored files in %s: %w", l.files.root, err)
	}
	return files, nil
}

func (l *LeftOut) list(ctx context.Context, without []string) (*Untracked, error) {
	excluded := func(path string) bool { return slices.Contains(without, path) }
	dirs := slices.DeleteFunc(l.dirs, excluded)
	l.dirs = nil
	maps.DeleteFunc(l.files.files, func(path string, _ stamp) bool { return excluded(path) })
	return l.files, l.files.addAll(ctx, dirs, without)
}

// ChangesAndLeftOut returns the changes of a working tree since a snapshot, like
// [Reader.Changes], and what they leave out, like [Reader.Untracked], by one walk.
func (r *Reader) ChangesAndLeftOut(ctx context.Context, from *Snapshot) (cs *ChangeSet, left *LeftOut, err error) {
	cs, err = r.changes(ctx, from, func(w *walk) { left = leftOutOf(w) })
	if err != nil {
		return nil, nil, fmt.Errorf("collect changes in %s: %w", r.Git.Root, err)
	}
	return cs, left, nil
}

// addAll records the files in directories and below them, one level after the other.
func (u *Untracked) addAll(ctx context.Context, level, without []string) error {
	for len(level) > 0 {
		var mu sync.Mutex
		var next []string
		err := parallel.Each(ctx, level, func(dir string) error {
			files, below, err := u.listed(dir, without)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(u.files, files)
			next = append(next, below...)
			return err
		})
		if err != nil {
			return err
		}
		level = next
	}
	return nil
}

// listed returns the files in a directory, and the directories in it.
func (u *Untracked) listed(dir string, without []string) (files map[string]stamp, below []string, err error) {
	var list dirent.List
	in, err := openDirectory(filepath.Join(u.root, filepath.FromSlash(dir)), &list)
	if in != nil {
		defer in.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) && !sharedfile.Absent(err) {
		return nil, nil, err
	}
	files = map[string]stamp{}
	for e, rest, ok := list.Next(); ok; e, rest, ok = rest.Next() {
		path := dir + "/" + string(e.Name())
		if slices.Contains(without, path) {
			continue
		}
		var st unix.Stat_t
		if e.Kind != dirent.Dir {
			if e.Lstat(int(in.Fd()), &st) != nil {
				continue // removed meanwhile
			}
			e.Kind = dirent.KindOf(uint32(st.Mode)) //nolint:unconvert // 16 bits on macOS
		}
		if e.Kind == dirent.Dir {
			below = append(below, path)
			continue
		}
		info := gitdir.FileOf(&st)
		files[path] = stamp{info.Mode, info.Stat}
	}
	return files, below, nil
}

// Since returns how the files differ from an earlier state, sorted by path, without
// lines. A file that was left out before and is in the changes now is not included.
func (u *Untracked) Since(before *Untracked) []Change {
	var list []Change
	if before == nil {
		before = &Untracked{}
	}
	for path, now := range u.files {
		if was, ok := before.files[path]; !ok {
			list = append(list, Change{Path: path, Kind: Added})
		} else if was != now {
			list = append(list, Change{Path: path, Kind: Modified})
		}
	}
	for path := range before.files {
		if _, ok := u.files[path]; ok {
			continue
		}
		if _, err := os.Lstat(filepath.Join(u.root, filepath.FromSlash(path))); sharedfile.Absent(err) {
			list = append(list, Change{Path: path, Kind: Deleted})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list
}
