package child

import (
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

const (
	auditArch = linux.AUDIT_ARCH_X86_64
	lastCall  = linux.SYS_RSEQ_SLICE_YIELD // the last one that this list was checked against
)

// forbiddenHere are the calls to forbid that only this architecture has.
func forbiddenHere() []uint32 {
	return []uint32{linux.SYS_IOPL, linux.SYS_IOPERM, linux.SYS_MODIFY_LDT, linux.SYS_USELIB, linux.SYS_USTAT, linux.SYS_CREATE_MODULE, linux.SYS_QUERY_MODULE, linux.SYS__SYSCTL}
}

// modeRulesHere are modeRules for calls that only this architecture has.
func modeRulesHere() [][]syscall.SockFilter {
	return [][]syscall.SockFilter{
		on(linux.SYS_CHMOD, refuseBits(1, setIDBits)...),
		on(linux.SYS_MKNOD, refuseBits(1, setIDBits)...),
		on(linux.SYS_CREAT, refuseBits(1, setIDBits)...),
		on(linux.SYS_OPEN, refuseBitsIf(1, makesFile, 2, setIDBits)...),
	}
}
