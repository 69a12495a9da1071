package child

import (
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

const (
	auditArch = linux.AUDIT_ARCH_AARCH64
	lastCall  = linux.SYS_RSEQ_SLICE_YIELD // the last one that this list was checked against
)

// forbiddenHere are the calls to forbid that only this architecture has.
func forbiddenHere() []uint32 { return nil }

// modeRulesHere are modeRules for calls that only this architecture has.
func modeRulesHere() [][]syscall.SockFilter { return nil }
