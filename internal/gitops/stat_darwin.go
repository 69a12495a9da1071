package gitops

import (
	"io/fs"
	"syscall"
)

// openFlags keep the opening of a file from waiting, should it have become a pipe.
const openFlags = syscall.O_RDONLY | syscall.O_NONBLOCK

// statOf returns what an index keeps of a file.
func statOf(info fs.FileInfo) stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}
	}
	return stat{
		ctimeSec: uint32(st.Ctimespec.Sec), ctimeNsec: uint32(st.Ctimespec.Nsec),
		mtimeSec: uint32(st.Mtimespec.Sec), mtimeNsec: uint32(st.Mtimespec.Nsec),
		dev: uint32(st.Dev), ino: uint32(st.Ino),
		uid: st.Uid, gid: st.Gid,
		size: uint32(st.Size),
	}
}
