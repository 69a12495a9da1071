//go:build !linux && !darwin

package gitops

import (
	"io/fs"
	"os"
)

const openFlags = os.O_RDONLY

// statOf returns what an index keeps of a file: here only its time and size.
func statOf(info fs.FileInfo) stat {
	t := info.ModTime()
	return stat{
		mtimeSec: uint32(t.Unix()), mtimeNsec: uint32(t.Nanosecond()),
		size: uint32(info.Size()),
	}
}
