package gitdir

import (
	"io/fs"
	"syscall"
)

// OpenFlags keep the opening of a file from waiting, should it have become a pipe.
const OpenFlags = syscall.O_RDONLY | syscall.O_NONBLOCK

// StatOf returns what an index keeps of a file.
func StatOf(info fs.FileInfo) Stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stat{}
	}
	return Stat{
		ctimeSec: uint32(st.Ctim.Sec), ctimeNsec: uint32(st.Ctim.Nsec),
		mtimeSec: uint32(st.Mtim.Sec), mtimeNsec: uint32(st.Mtim.Nsec),
		dev: uint32(st.Dev), ino: uint32(st.Ino),
		uid: st.Uid, gid: st.Gid,
		size: uint32(st.Size),
	}
}
