//go:build linux

package child

import (
	"errors"
	"path"
	"syscall"
)

// The functions of this file are those of package os without its poller, which makes several
// system calls for the first file.

// writeFile writes a text to a file that exists.
func writeFile(name, text string) error {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return failed("open "+name, err)
	}
	_, err = syscall.Write(fd, []byte(text))
	return errors.Join(err, syscall.Close(fd))
}

// readFile returns the content of a small file.
func readFile(name string) (string, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd) //nolint:errcheck // only read
	var text []byte
	for buf := make([]byte, 4096); ; {
		n, err := syscall.Read(fd, buf)
		if err != nil || n == 0 {
			return string(text), err
		}
		text = append(text, buf[:n]...)
	}
}

// readAll returns the content of an open file without moving its offset.
func readAll(fd int) ([]byte, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	text := make([]byte, st.Size)
	n, err := syscall.Pread(fd, text, 0)
	if err == nil && n != len(text) {
		err = errMalformed
	}
	return text, err
}

// mkdirAll creates a directory, and its parents if missing.
func mkdirAll(name string) error {
	err := syscall.Mkdir(name, 0o755)
	if errors.Is(err, syscall.ENOENT) {
		if err := mkdirAll(path.Dir(name)); err != nil {
			return err
		}
		err = syscall.Mkdir(name, 0o755)
	}
	if errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}
