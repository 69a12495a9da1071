package gitdir

import "syscall"

func times(st *syscall.Stat_t) (changed, modified syscall.Timespec) { return st.Ctim, st.Mtim }
