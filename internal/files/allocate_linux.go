package files

import (
	"os"

	"golang.org/x/sys/unix"
)

func fallocate(f *os.File, bytes int64) error {
	return unix.Fallocate(int(f.Fd()), 0, 0, bytes)
}
