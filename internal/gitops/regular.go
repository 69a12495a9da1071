package gitops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// errNotFile is the cause when something else has the name of a file.
var errNotFile = errors.New("it is not a file")

// openFile opens a file, and nothing else: a pipe of that name, as a hostile
// repository may have, would be waited for without end.
func openFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readFile reads a file as openFile opens it. The null device stands for an
// empty one, as many a configuration has it.
func readFile(name string) ([]byte, error) {
	if name == os.DevNull {
		return nil, nil
	}
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
