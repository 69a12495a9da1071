package sandbox

import (
	"errors"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/dirent"
)

// Private finds the files and directories below the system's directories that not every
// user of the machine can read, but possibly commands: as their owner, or by group. It
// searches once, because these directories can contain hundreds of thousands of files. It
// is safe for concurrent use. The zero value finds nothing.
type Private struct {
	roots   []string
	once    sync.Once
	found   []string
	systems []string // directories of the system, which a grant of does not expose what is found; set with it
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
		s := privateSearch{root: os.Geteuid() == 0, read: dirent.Append}
		for _, root := range p.roots {
			s.search(unix.AT_FDCWD, root, root)
		}
		p.found, p.systems = s.found, systemPaths(p.roots)
	})
	return p.found
}

// privateSearch is one search for private files. It makes few allocations, because it meets
// tens of thousands of files and nearly all of them are public.
type privateSearch struct {
	root  bool                                                 // this process is root's
	read  func(list dirent.List, dir int) (dirent.List, error) // dirent.Append
	list  dirent.List                                          // of the directories that are searched, the innermost last
	found []string
}

// search searches a directory, given by its name in an open one. Unreadable directories
// require no protection. One that can't be searched for another reason is private.
func (s *privateSearch) search(in int, name, path string) {
	dir, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if isFault(err) {
			s.found = append(s.found, path)
		}
		return
	}
	defer unix.Close(dir) //nolint:errcheck // it was only read
	before := len(s.list)
	if s.list, err = s.read(s.list, dir); isFault(err) { // otherwise those before an error count
		s.list, s.found = s.list[:before], append(s.found, path)
		return
	}
	for rest := s.list[before:]; ; {
		e, others, ok := rest.Next()
		if !ok {
			break
		}
		rest = others
		var st unix.Stat_t
		if e.Kind == dirent.Symlink || e.Lstat(dir, &st) != nil {
			continue
		}
		mode := uint32(st.Mode) //nolint:unconvert // 16 bits on macOS
		switch kind := dirent.KindOf(mode); {
		case kind == dirent.Symlink:
		case s.isPrivate(dir, e, kind, mode):
			s.found = append(s.found, path+"/"+string(e.Name()))
		case kind == dirent.Dir && path != nixStore:
			below := path + "/" + string(e.Name())
			s.search(dir, below[len(path)+1:], below)
		}
	}
	s.list = s.list[:before]
}

// isFault reports whether a directory could not be searched although it exists and may be readable.
func isFault(err error) bool {
	return err != nil && !slices.ContainsFunc([]error{unix.EACCES, unix.EPERM, unix.ENOENT, unix.ENOTDIR, unix.ELOOP}, func(other error) bool { return errors.Is(err, other) })
}

// isPrivate reports whether commands may have an access to a file that other users lack.
// Root's commands can run as another user, who can't be asked for: for them it is enough
// that others lack it.
func (s *privateSearch) isPrivate(dir int, e dirent.Entry, kind dirent.Kind, mode uint32) bool {
	for _, access := range [...]uint32{unix.R_OK, unix.X_OK} {
		if mode&access == 0 && (access == unix.R_OK || kind == dirent.Dir) &&
			(s.root || unix.Faccessat(dir, string(e.Name()), access, 0) == nil) {
			return true
		}
	}
	return false
}
