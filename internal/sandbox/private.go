package sandbox

import (
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Private finds the files and directories below the system's directories that not every
// user of the machine can read, but possibly commands: as their owner, or by group. It
// searches once, because these directories can contain hundreds of thousands of files. It
// is safe for concurrent use. The zero value finds nothing.
type Private struct {
	roots []string
	once  sync.Once
	found []string
}

const nixStore = "/nix/store"

// NewPrivate returns a Private that has not searched yet: the given directories, or the
// system's. Below /usr only /usr/local is searched: packages own the rest. Of /nix/store only
// the entries are, because Nix makes their contents readable for everybody.
func NewPrivate(roots ...string) *Private {
	if len(roots) == 0 {
		roots = []string{"/etc", "/opt", "/usr/local", nixStore}
	}
	return &Private{roots: roots}
}

// Paths returns the paths, without those in other private directories.
func (p *Private) Paths() []string {
	p.once.Do(func() {
		for _, root := range p.roots {
			p.search(unix.AT_FDCWD, root, root)
		}
	})
	return p.found
}

// search searches a directory, given by its name in an open one. Unreadable directories
// require no protection.
func (p *Private) search(in int, name, path string) {
	fd, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	entries, _ := dir.ReadDir(-1) // those before an error
	for _, e := range entries {
		var st unix.Stat_t
		if e.Type()&fs.ModeSymlink != 0 || unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		switch at := path + "/" + e.Name(); {
		case isPrivate(fd, e, uint32(st.Mode)): //nolint:unconvert // 16 bits on macOS
			p.found = append(p.found, at)
		case e.IsDir() && path != nixStore:
			p.search(fd, e.Name(), at)
		}
	}
}

// isPrivate reports whether commands may have an access to a file that other users lack.
// Root's commands can run as another user, who can't be asked for: for them it is enough
// that others lack it.
func isPrivate(dir int, e fs.DirEntry, mode uint32) bool {
	needed := []uint32{unix.R_OK}
	if e.IsDir() {
		needed = []uint32{unix.R_OK, unix.X_OK}
	}
	return slices.ContainsFunc(needed, func(access uint32) bool {
		return mode&access == 0 && (os.Geteuid() == 0 || unix.Faccessat(dir, e.Name(), access, 0) == nil)
	})
}
