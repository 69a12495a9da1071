package gitdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/owner"
)

// createWith creates a file that has its content as soon as it has its name. The error matches
// fs.ErrExist if the file exists, or errors.ErrUnsupported.
func createWith(name string, content []byte) (*os.File, error) {
	fd, err := unix.Open(filepath.Dir(name), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, errors.Join(errors.ErrUnsupported, err)
	}
	f := os.NewFile(uintptr(fd), name)
	owner.Inherit(f)
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			err = errors.Join(errors.ErrUnsupported, err)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
