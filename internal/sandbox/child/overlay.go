//go:build linux

package child

import (
	"errors"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// maxLayers is the number of commands of a job that can run concurrently. The kernel
// limits the length of the list of layers.
const maxLayers = 12

// overlay creates a mount of a directory whose changes go to a layer. Two mounts at a time
// must not have the same upper layer, so that concurrent commands get one each; the others
// are lower layers, so that later commands see all changes.
//
// It must be called before Landlock is enforced: the kernel accesses the layers with the
// credentials of this thread.
func overlay(m Mount, attrs int) (int, error) {
	lower, err := directory(m.Source)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(lower) //nolint:errcheck // only a handle
	layers, err := directory(m.Layers)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(layers) //nolint:errcheck // only a handle
	if err := firstLayer(layers, m.Without); err != nil {
		return -1, failed("create the first layer of "+m.Source, err)
	}
	upper, others, err := claim(layers)
	if err != nil {
		return -1, failed("claim a layer in "+m.Layers, err)
	}
	defer func() {
		for _, fd := range others {
			syscall.Close(fd) //nolint:errcheck // only a handle
		}
	}()
	work, err := subdirectory(layers, strconv.Itoa(upper)+".work")
	if err != nil {
		return -1, err
	}
	defer syscall.Close(work) //nolint:errcheck // only a handle
	top, err := subdirectory(layers, strconv.Itoa(upper))
	if err != nil {
		return -1, err
	}
	defer syscall.Close(top) //nolint:errcheck // only a handle
	var lowers []byte
	for _, fd := range others {
		lowers = append(lowers, handle(fd)+":"...)
	}
	lowers = append(lowers, handle(lower)...)
	fd, err := fresh("overlay", map[string]string{
		"lowerdir": string(lowers), "upperdir": handle(top), "workdir": handle(work), "index": "off", "userxattr": "",
	}, attrs)
	if err != nil {
		return -1, failed("mount an overlay over "+m.Source, err)
	}
	return fd, nil
}

// claim locks the first free layer until the process ends, and opens the other layers that
// exist.
func claim(layers int) (upper int, others []int, err error) {
	upper = -1
	for n := range maxLayers {
		name := strconv.Itoa(n)
		if upper >= 0 && syscall.Faccessat(layers, name, syscall.F_OK, 0) != nil {
			break
		}
		fd, err := subdirectory(layers, name)
		if err != nil {
			return 0, nil, err
		}
		if upper < 0 && syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			upper = n // stays open: it is the lock
			continue
		}
		others = append(others, fd)
	}
	if upper < 0 {
		return 0, nil, unable{failed("more than "+strconv.Itoa(maxLayers)+" commands at a time", syscall.EBUSY)}
	}
	return upper, others, nil
}

// firstLayer creates the first layer, with what hides paths of the lower directory. It appears
// complete, because a concurrent command can mount it at any time, and is not changed later:
// commands may have created symlinks in it. It fails on file systems without attributes of
// users (tmpfs before Linux 6.6): there the kernel mounts overlays in which no directory of
// the lower one can be replaced or removed.
func firstLayer(layers int, without []string) error {
	if syscall.Faccessat(layers, "0", syscall.F_OK, 0) == nil {
		return nil
	}
	dir, err := os.MkdirTemp(handle(layers), "new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // if it was not renamed
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Setxattr(dir, "user.millhand", []byte("1"), 0); err != nil {
		return failed("set an attribute", err)
	}
	if err := hide(dir, without); err != nil {
		return err
	}
	if err := linux.Renameat2(layers, path.Base(dir), layers, "0", linux.RENAME_NOREPLACE); !errors.Is(err, syscall.EEXIST) {
		return err
	}
	return nil
}

// hide creates what hides paths of lower directories from a new layer: a character device with
// the number 0. There is one with many names, because a name costs less than a file.
func hide(layer string, without []string) error {
	first, parent := "", ""
	for _, p := range without {
		at := path.Join(layer, p)
		if dir := path.Dir(at); dir != parent {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			parent = dir
		}
		if first != "" && os.Link(first, at) == nil {
			continue
		}
		if err := syscall.Mknod(at, syscall.S_IFCHR, 0); err != nil {
			return err
		}
		first = at
	}
	return nil
}

// directory opens a directory without following symlinks; see clone.
func directory(name string) (int, error) {
	fd, err := linux.Openat2(linux.AT_FDCWD, name, &linux.OpenHow{Flags: syscall.O_RDONLY | syscall.O_DIRECTORY | syscall.O_CLOEXEC, Resolve: linux.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// subdirectory opens a directory in another one, and creates it if missing.
func subdirectory(in int, name string) (int, error) {
	if err := syscall.Mkdirat(in, name, 0o755); err != nil && !errors.Is(err, syscall.EEXIST) {
		return -1, &os.PathError{Op: "mkdir", Path: name, Err: err}
	}
	fd, err := linux.Openat2(in, name, &linux.OpenHow{Flags: syscall.O_RDONLY | syscall.O_DIRECTORY | syscall.O_CLOEXEC, Resolve: linux.RESOLVE_NO_SYMLINKS | linux.RESOLVE_BENEATH})
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// handle returns a path of an open file, without characters that the options of a mount
// use.
func handle(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
