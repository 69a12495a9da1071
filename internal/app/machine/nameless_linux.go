package machine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// nameless creates a file without a name in a directory, which ends with the process. The error
// matches [errors.ErrUnsupported] if the file system has no such files.
func nameless(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_WRONLY, 0o600)
	if errors.Is(err, unix.EISDIR) { // of kernels and file systems that do not know them
		return nil, errors.ErrUnsupported
	}
	return f, err
}
