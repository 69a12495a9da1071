package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// mirrorMark is the file that identifies a mirror created by millhand. It
// records the depth of the mirror and its packs.
const mirrorMark = "millhand-mirror"

// mirrorConfig is the configuration of a mirror. It disables git's maintenance,
// which would remove objects that jobs have just created.
const mirrorConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[gc]
	auto = 0
	pruneExpire = never
	worktreePruneExpire = never
[maintenance]
	auto = false
`

// mirrorNames lists the entries of a mirror, and whether each is a directory.
// Anything else is removed: hooks, info (attributes, grafts), commondir,
// config.worktree, stale locks.
func mirrorNames() map[string]bool {
	return map[string]bool{
		"HEAD": false, "config": false, "packed-refs": false, "shallow": false, mirrorMark: false,
		"objects": true, "refs": true, "worktrees": true, "logs": true,
	}
}

// createMirror creates the directory of a mirror if missing, restores its own
// files, and returns its path without symlinks.
func createMirror(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	unmarked := !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == mirrorMark })
	if unmarked && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !isBegun(e) }) {
		return "", fmt.Errorf("%s is not empty and not a mirror created by millhand", dir)
	}
	if unmarked {
		if err := replaceFile(filepath.Join(dir, mirrorMark), nil); err != nil {
			return "", err
		}
	}
	return dir, errors.Join(removeForeign(dir, entries), writeFiles(dir))
}

// isBegun reports whether an entry was left by a process that was killed while it created the
// mark of a mirror.
func isBegun(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.Size() == 0 && strings.HasPrefix(e.Name(), temporary)
}

func removeForeign(dir string, entries []fs.DirEntry) error {
	ours := mirrorNames()
	for _, e := range entries {
		isDirectory, known := ours[e.Name()]
		if known && (isDirectory && e.IsDir() || !isDirectory && e.Type().IsRegular()) {
			continue
		}
		if err := sharedfile.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	objects := filepath.Join(dir, "objects")
	if info, err := os.Lstat(filepath.Join(objects, "pack")); err == nil && !info.IsDir() {
		if err := os.Remove(filepath.Join(objects, "pack")); err != nil {
			return err
		}
	}
	shared, _ := filepath.Glob(filepath.Join(objects, "pack", "multi-pack-index*")) // the pattern is valid
	for _, name := range append(shared, filepath.Join(objects, "info")) {
		if err := sharedfile.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

func writeFiles(dir string) error {
	for _, d := range []string{"objects/pack", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(d)), 0o777); err != nil {
			return err
		}
	}
	if err := replaceFile(filepath.Join(dir, "config"), []byte(mirrorConfig)); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
		return nil
	}
	return replaceFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"))
}

// temporary is the start of the names of files that are not complete.
const temporary = "tmp_"

// replaceFile replaces a file's content atomically and durably, unless it is
// the same.
func replaceFile(name string, data []byte) error {
	if now, err := os.ReadFile(name); err == nil && bytes.Equal(now, data) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), temporary)
	if err != nil {
		return err
	}
	defer discard(f)
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return sharedfile.SyncDir(filepath.Dir(name))
}

// writeShallow writes the list of present commits whose parents are missing.
func (m *mirroring) writeShallow(commits []plumbing.Hash) error {
	var lines []string
	for _, h := range commits {
		if c, err := m.git.Objects.Originals().Commit(h); err == nil && c != nil {
			lines = append(lines, h.String()+"\n")
		}
	}
	slices.Sort(lines)
	name := filepath.Join(m.dir, "shallow")
	if len(lines) == 0 {
		return sharedfile.IgnoreMissing(os.Remove(name))
	}
	return replaceFile(name, []byte(strings.Join(slices.Compact(lines), "")))
}

// writeRefs replaces all references of the remote atomically, and removes
// outdated ones.
func (m *mirroring) writeRefs(refs map[string]plumbing.Hash) error {
	var packed bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&packed, "%s %s\n", refs[name], name)
	}
	if err := replaceFile(filepath.Join(m.dir, "packed-refs"), packed.Bytes()); err != nil {
		return err
	}
	if err := m.removeLoose(); err != nil {
		return err
	}
	head := filepath.Join(m.dir, "refs", "remotes", "origin", "HEAD")
	own := "refs/heads/main"
	switch {
	case m.offer.head != "":
		own = m.offer.head
		target := gitdir.OriginPrefix + strings.TrimPrefix(m.offer.head, gitdir.BranchPrefix)
		if err := replaceFile(head, []byte("ref: "+target+"\n")); err != nil {
			return err
		}
	default:
		if err := sharedfile.IgnoreMissing(os.Remove(head)); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(m.dir, "HEAD"), []byte("ref: "+own+"\n"))
}

// removeLoose removes loose references other than the jobs' branches.
func (m *mirroring) removeLoose() error {
	keep := filepath.Join(m.dir, "refs", "remotes", "origin")
	for _, dir := range []string{"refs", "refs/remotes", "refs/remotes/origin"} {
		dir = filepath.Join(m.dir, filepath.FromSlash(dir))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			stays := strings.HasPrefix(keep, name) && e.IsDir() || name == filepath.Join(m.dir, "refs", "heads") ||
				name == filepath.Join(keep, "HEAD") && e.Type().IsRegular()
			if stays {
				continue
			}
			if err := sharedfile.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}
