package gitdir

import (
	"io/fs"
	"syscall"
	"time"
)

// OpenFlags prevent an open from blocking if the file was replaced by a pipe.
const OpenFlags = syscall.O_RDONLY | syscall.O_NONBLOCK

// Stat contains the lstat fields of an index entry, truncated to 32 bits.
// Fields that the system lacks are zero.
type Stat struct {
	ctimeSec, ctimeNsec uint32
	mtimeSec, mtimeNsec uint32
	dev, ino            uint32
	uid, gid            uint32
	size                uint32
}

// statBeforeMode is the number of fields that stand before the mode in an index.
const statBeforeMode = 6

// fields returns the fields in the order of an index.
func (s *Stat) fields() [9]*uint32 {
	return [9]*uint32{
		&s.ctimeSec, &s.ctimeNsec, &s.mtimeSec, &s.mtimeNsec,
		&s.dev, &s.ino, &s.uid, &s.gid, &s.size,
	}
}

// same reports whether a file looks unchanged. Like git, it leaves out the device,
// which is not stable on network file systems.
func (s *Stat) same(now *Stat, trustCtime bool) bool {
	if s.mtimeSec != now.mtimeSec || s.mtimeNsec != now.mtimeNsec || s.size != now.size {
		return false
	}
	if trustCtime && (s.ctimeSec != now.ctimeSec || s.ctimeNsec != now.ctimeNsec) {
		return false
	}
	return s.ino == now.ino && s.uid == now.uid && s.gid == now.gid
}

// Before reports whether the file was last changed in a second before that of t.
func (s *Stat) Before(t time.Time) bool {
	return int64(s.ctimeSec) < t.Unix() && int64(s.mtimeSec) < t.Unix()
}

// StatOf returns the Stat of a file.
func StatOf(info fs.FileInfo) Stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stat{}
	}
	changed, modified := times(st)
	return Stat{
		ctimeSec: uint32(changed.Sec), ctimeNsec: uint32(changed.Nsec),
		mtimeSec: uint32(modified.Sec), mtimeNsec: uint32(modified.Nsec),
		dev: uint32(st.Dev), ino: uint32(st.Ino),
		uid: st.Uid, gid: st.Gid,
		size: uint32(st.Size),
	}
}
