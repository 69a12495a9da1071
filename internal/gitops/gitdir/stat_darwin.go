package gitdir

import "syscall"

func times(st *syscall.Stat_t) (changed, modified syscall.Timespec) {
	return st.Ctimespec, st.Mtimespec
}
