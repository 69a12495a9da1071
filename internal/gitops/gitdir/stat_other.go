//go:build !linux && !darwin

package gitdir

import (
	"io/fs"
	"os"
)

const OpenFlags = os.O_RDONLY

// StatOf returns what an index keeps of a file: here only its time and size.
func StatOf(info fs.FileInfo) Stat {
	t := info.ModTime()
	return Stat{
		mtimeSec: uint32(t.Unix()), mtimeNsec: uint32(t.Nanosecond()),
		size: uint32(info.Size()),
	}
}
