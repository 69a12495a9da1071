package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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

// Size returns the size in bytes, modulo 2^32.
func (s *Stat) Size() int64 { return int64(s.size) }

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

// File is what lstat(2) returns of a file.
type File struct {
	Mode uint32 // type and permissions
	Size int64  // in bytes
	Stat Stat
}

// Symlink reports whether the file is a symlink.
func (f File) Symlink() bool { return f.Mode&unix.S_IFMT == unix.S_IFLNK }

// Executable reports whether its owner can execute the file.
func (f File) Executable() bool { return f.Mode&0o100 != 0 }

// LstatIn describes the entry of an open directory with a name. That is several times faster than
// os.Lstat, which resolves all directories of the path again.
func LstatIn(dir *os.File, name string) (File, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return File{}, &fs.PathError{Op: "lstat", Path: dir.Name() + "/" + name, Err: err}
		}
		return FileOf(&st), nil
	}
}

// FileOf returns the description of a file.
func FileOf(st *unix.Stat_t) File {
	mode := uint32(st.Mode) //nolint:unconvert // it has 16 bits on macOS
	return File{mode, st.Size, Stat{
		ctimeSec: uint32(st.Ctim.Sec), ctimeNsec: uint32(st.Ctim.Nsec),
		mtimeSec: uint32(st.Mtim.Sec), mtimeNsec: uint32(st.Mtim.Nsec),
		dev: uint32(st.Dev), ino: uint32(st.Ino),
		uid: st.Uid, gid: st.Gid,
		size: uint32(st.Size),
	}}
}
