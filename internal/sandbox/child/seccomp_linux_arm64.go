package child

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	lastCall  = unix.SYS_RSEQ_SLICE_YIELD // the last one that this list was checked against
)

// forbiddenHere are the calls to forbid that only this architecture has.
func forbiddenHere() []uint32 { return nil }

// modeRulesHere are modeRules for calls that only this architecture has.
func modeRulesHere() [][]unix.SockFilter { return nil }
