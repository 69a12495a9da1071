package diskusage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/pathtree"
)

// inodeBytes is what a file counts at least: the number of files on a disk is limited,
// too.
const inodeBytes = 4096

// A tree can be deeper than the longest path that the kernel accepts. Every maxRelative
// bytes, usage opens a directory to which the paths below are relative, at most
// maxAnchors of them at a time.
const (
	maxRelative = 900 // paths have up to 1024 bytes on macOS, including a name of 255
	maxAnchors  = 64
)

var errTooDeep = errors.New("directories are nested too deeply")

// usage returns the disk usage of a directory in bytes, without holes. Files that vanish
// or can't be read are not counted. It fails if ctx ends, or if the directory is nested too
// deeply.
func usage(ctx context.Context, dir string) (int64, error) {
	m := meter{ctx: ctx}
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil {
		return 0, nil //nolint:nilerr // a directory that vanished has no usage
	}
	m.add(&st)
	if err := m.measure(unix.AT_FDCWD, dir, 0); err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return m.bytes, nil
}

// meter adds the sizes of files.
type meter struct {
	ctx     context.Context //nolint:containedctx // of one measurement
	bytes   int64
	anchors int
}

func (m *meter) add(st *unix.Stat_t) { m.bytes += max(st.Blocks*512, inodeBytes) }

// measure adds the files below a directory. It holds no descriptor while it measures
// subdirectories, except those of anchors.
func (m *meter) measure(in int, path string, anchored int) error {
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	for _, sub := range m.entries(in, path) {
		next := path + "/" + sub
		if len(next)-anchored < maxRelative {
			if err := m.measure(in, next, anchored); err != nil {
				return err
			}
			continue
		}
		if err := m.anchor(in, path, sub); err != nil {
			return err
		}
	}
	return nil
}

// anchor measures a subdirectory of a directory that it opens.
func (m *meter) anchor(in int, path, sub string) error {
	if m.anchors == maxAnchors {
		return errTooDeep
	}
	fd, err := unix.Openat(in, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	m.anchors++
	defer func() { m.anchors-- }()
	return m.measure(fd, sub, 0)
}

// entries adds the entries of a directory and returns its subdirectories.
func (m *meter) entries(in int, path string) (dirs []string) {
	fd, err := unix.Openat(in, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those before an error
	for _, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		m.add(&st)
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// space is what a file system has left. It is counted in bytes.
type space struct{ bytes, inodes int64 }

// left returns the total space of the directories' file systems, each counted once.
// Unknown file systems have none.
func left(dirs []string) (s space) {
	seen := map[unix.Fsid]bool{}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && !seen[st.Fsid] {
			seen[st.Fsid] = true
			s.bytes += int64(st.Bfree) * int64(st.Bsize) //nolint:gosec,unconvert // no disk is that large; Bsize has 32 bits on macOS
			s.inodes += int64(st.Ffree) * inodeBytes     //nolint:gosec // as above
		}
	}
	return s
}

// unlinkedBytes returns the disk usage of files without a name that processes have open:
// files that were in one of the directories, and those of processes with another root
// that see all of the directories where they are.
func unlinkedBytes(dirs []string) (total int64) {
	seen := map[[2]uint64]bool{}
	open, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/fd/*") // one's own, too: they are none of these
	inside := map[string]bool{}
	for _, fd := range open {
		var st unix.Stat_t
		if unix.Stat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 0 {
			continue
		}
		id := [2]uint64{uint64(st.Dev), st.Ino} //nolint:gosec,unconvert // other systems have other types
		if seen[id] {
			continue
		}
		process := strings.Join(strings.SplitN(fd, "/", 4)[:3], "/")
		if _, known := inside[process]; !known {
			inside[process] = sees(process, dirs)
		}
		name, _ := os.Readlink(fd)
		if inside[process] || slices.ContainsFunc(dirs, func(dir string) bool { return pathtree.Within(name, dir) }) {
			seen[id] = true
			total += st.Blocks * 512
		}
	}
	return total
}

// sees reports whether a process has another root, in which all directories are.
func sees(process string, dirs []string) bool {
	same := func(path, other string) bool {
		a, err := os.Stat(path)
		b, err2 := os.Stat(other)
		return errors.Join(err, err2) == nil && os.SameFile(a, b)
	}
	root := process + "/root"
	return !same(root, "/") && !slices.ContainsFunc(dirs, func(dir string) bool { return !same(root+dir, dir) })
}
