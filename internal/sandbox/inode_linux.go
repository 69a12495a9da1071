package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// inode is which file a name is, wherever it is moved. The number of a removed file can be used
// again, the time of its creation can't.
type inode struct {
	major, minor uint32
	number       uint64
	created      unix.StatxTimestamp
}

// inodeOf returns false on file systems that store no time of creation.
func inodeOf(f *os.File) (inode, bool) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 { //nolint:gosec // a descriptor
		return inode{}, false
	}
	return inode{st.Dev_major, st.Dev_minor, st.Ino, st.Btime}, true
}
