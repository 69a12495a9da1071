package child

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	lastCall  = unix.SYS_RSEQ_SLICE_YIELD // the last one that this list was checked against
)

// forbiddenHere are the calls to forbid that only this architecture has.
func forbiddenHere() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS__SYSCTL}
}

// modeRulesHere are modeRules for calls that only this architecture has.
func modeRulesHere() [][]unix.SockFilter {
	return [][]unix.SockFilter{
		on(unix.SYS_CHMOD, refuseBits(1, setIDBits)...),
		on(unix.SYS_MKNOD, refuseBits(1, setIDBits)...),
		on(unix.SYS_CREAT, refuseBits(1, setIDBits)...),
		on(unix.SYS_OPEN, refuseBitsIf(1, makesFile, 2, setIDBits)...),
	}
}
