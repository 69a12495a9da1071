package gitdir

// Stat is what an index keeps of lstat, cut to 32 bits as there. Fields that
// the system does not have are zero.
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
