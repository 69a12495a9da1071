//go:build linux

package child

import (
	"errors"
	"path"
	"strconv"
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// base is the directory where the new root is assembled. It hides the directory's
// contents, but all required files were opened before.
const base = "/proc"

// buildRoot creates a root file system that contains only the given mounts, and changes
// to it. It opens all mounts before attaching any, so that none can hide the source of
// another.
func buildRoot(mounts []Mount) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return failed("detach the mounts from the machine's", err)
	}
	root, err := fresh("tmpfs", map[string]string{"mode": "0755", "size": "1m"}, linux.MOUNT_ATTR_NOSUID|linux.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	files := make([]int, len(mounts))
	for i, m := range mounts {
		if m.Kind == Tmpfs { // it has no source; most mounts are of this kind, and open files may be few
			continue
		}
		if files[i], err = open(m); m.Optional && errors.Is(err, syscall.ENOENT) || m.Kind == Lock && replaced(err) {
			files[i] = -1
		} else if err != nil {
			return failed("prepare "+m.Path, err)
		}
	}
	if err := attach(root, base); err != nil {
		return failed("attach the new root", err)
	}
	for i, m := range mounts {
		if m.Kind == Tmpfs {
			if files[i], err = open(m); err != nil {
				return failed("prepare "+m.Path, err)
			}
		}
		err := attachMount(m, files[i])
		if m.Optional && (errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOENT)) {
			continue // the mount point was removed, or a directory above it
		}
		if err != nil {
			return failed("place "+m.Path, err)
		}
	}
	return changeRoot()
}

// seal makes the root and the empty directories of hidden paths read-only, after all
// mounts are attached.
func seal(mounts []Mount) error {
	attr := &linux.MountAttr{Attr_set: linux.MOUNT_ATTR_RDONLY}
	for _, m := range append(mounts, Mount{Kind: Tmpfs, Path: "/"}) {
		if m.Kind != Tmpfs || m.Write {
			continue
		}
		err := linux.MountSetattr(linux.AT_FDCWD, m.Path, 0, attr)
		if m.Optional && errors.Is(err, syscall.ENOENT) {
			continue // as in buildRoot
		}
		if err != nil {
			return failed("make "+m.Path+" read-only", err)
		}
	}
	return nil
}

// changeRoot changes to the assembled root, and unmounts the old one.
func changeRoot() error {
	if err := syscall.Chdir(base); err != nil {
		return failed("enter the new root", err)
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return failed("change to the new root", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return failed("unmount the old root", err)
	}
	if err := syscall.Chdir("/"); err != nil {
		return failed("enter the new root", err)
	}
	return nil
}

// open creates a detached mount; it returns -1 if the kind needs none.
func open(m Mount) (int, error) {
	const safe = linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NODEV
	switch m.Kind {
	case Bind, Lock:
		attrs := uint64(safe)
		if !m.Write {
			attrs |= linux.MOUNT_ATTR_RDONLY
		}
		return clone(m.Source, attrs)
	case Overlay:
		return overlay(m, safe)
	case Device:
		return clone(m.Source, linux.MOUNT_ATTR_NOSUID)
	case Tmpfs:
		options := map[string]string{"mode": "0755"}
		attrs := safe
		if m.Write {
			options["mode"] = "1777"
		}
		if m.Bytes > 0 {
			options["size"] = strconv.FormatInt(m.Bytes, 10)
		}
		return fresh("tmpfs", options, attrs)
	case Proc: // read-only from the start: below it are the machine's sysctls, which root may write without capabilities
		return fresh("proc", nil, safe|linux.MOUNT_ATTR_NOEXEC|linux.MOUNT_ATTR_RDONLY)
	case Pts:
		return fresh("devpts", map[string]string{"ptmxmode": "0666", "mode": "0620"}, linux.MOUNT_ATTR_NOSUID|linux.MOUNT_ATTR_NOEXEC)
	case Symlink:
		return -1, nil
	}
	return -1, failed("invalid mount kind "+strconv.Quote(string(m.Kind)), syscall.EINVAL)
}

// clone creates a bind mount of a path, recursively. Symlinks in the path are an error:
// the path was resolved when the plan was created, so that a symlink in it is an attempt
// to expose another path.
func clone(source string, attrs uint64) (int, error) {
	at, err := linux.Openat2(linux.AT_FDCWD, source, &linux.OpenHow{Flags: linux.O_PATH | syscall.O_CLOEXEC, Resolve: linux.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, failed("open "+source, err)
	}
	defer syscall.Close(at) //nolint:errcheck // only a handle
	fd, err := linux.OpenTree(at, "", linux.AT_EMPTY_PATH|linux.OPEN_TREE_CLONE|linux.OPEN_TREE_CLOEXEC|linux.AT_RECURSIVE)
	if err != nil {
		return -1, failed("clone the mount of "+source, err)
	}
	if err := linux.MountSetattr(fd, "", linux.AT_EMPTY_PATH|linux.AT_RECURSIVE, &linux.MountAttr{Attr_set: attrs}); err != nil {
		return -1, failed("set the mount attributes of "+source, err)
	}
	return fd, nil
}

// fresh creates a mount of a new file system. An option with the value "" is a flag.
func fresh(kind string, options map[string]string, attrs int) (int, error) {
	fs, err := linux.Fsopen(kind, linux.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, failed("open file system "+kind, err)
	}
	defer syscall.Close(fs) //nolint:errcheck // only a handle
	for k, v := range options {
		set := func() error { return linux.FsconfigSetString(fs, k, v) }
		if v == "" {
			set = func() error { return linux.FsconfigSetFlag(fs, k) }
		}
		if err := set(); err != nil {
			return -1, failed("set "+k+"="+v+" of file system "+kind, err)
		}
	}
	if err := linux.FsconfigCreate(fs); err != nil {
		return -1, failed("make file system "+kind, err)
	}
	fd, err := linux.Fsmount(fs, linux.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return -1, failed("mount a fresh "+kind, err)
	}
	return fd, nil
}

// attachMount attaches an open mount at its path in the new root, and creates the mount point
// if missing.
func attachMount(m Mount, fd int) error {
	if (m.Optional || m.Kind == Lock) && fd < 0 {
		return nil
	}
	if m.Kind == Lock {
		return cover(fd, m.Path)
	}
	at := base + m.Path
	if err := mkdirAll(path.Dir(at)); err != nil {
		return err
	}
	if m.Kind == Symlink {
		return syscall.Symlink(m.Source, at)
	}
	if err := makePoint(at, fd); err != nil && !errors.Is(err, syscall.EEXIST) {
		return err
	}
	return attach(fd, at)
}

// makePoint creates an empty directory or file as a mount point.
func makePoint(at string, fd int) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return syscall.Mkdir(at, 0o755)
	}
	f, err := syscall.Open(at, syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	return syscall.Close(f)
}

// cover attaches an open mount over what already is at its path in the new root. The path
// is in a writable directory, where another command may replace any directory of it at any
// time: symlinks are not followed, nothing is created, and a replaced path is not covered.
func cover(fd int, name string) error {
	defer syscall.Close(fd) //nolint:errcheck // only a handle
	at, err := linux.Openat2(linux.AT_FDCWD, base+name, &linux.OpenHow{Flags: linux.O_PATH | syscall.O_CLOEXEC, Resolve: linux.RESOLVE_NO_SYMLINKS})
	if err == nil {
		defer syscall.Close(at) //nolint:errcheck // only a handle
		err = linux.MoveMount(fd, "", at, "", linux.MOVE_MOUNT_F_EMPTY_PATH|linux.MOVE_MOUNT_T_EMPTY_PATH)
	}
	if replaced(err) {
		return nil
	}
	return err
}

// replaced reports whether a path was removed, or replaced by another kind of file.
func replaced(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

func attach(fd int, at string) error {
	defer syscall.Close(fd) //nolint:errcheck // only a handle
	return linux.MoveMount(fd, "", linux.AT_FDCWD, at, linux.MOVE_MOUNT_F_EMPTY_PATH)
}
