//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc"
)

// Sandbox is not supported on this system: New always fails.
type Sandbox struct{}

// New returns ErrAbsent.
func New(Spec, Level) (*Sandbox, error) {
	return nil, fmt.Errorf("create a sandbox on %s: %w", runtime.GOOS, ErrAbsent)
}

// Confine returns ErrAbsent.
func (*Sandbox) Confine(_, _ []string, _ string) (*proc.Confined, error) { return nil, ErrAbsent }

// StartAhead does nothing.
func (*Sandbox) StartAhead() {}

// Try returns ErrAbsent.
func (*Sandbox) Try(context.Context) error { return ErrAbsent }

// TryStore returns ErrAbsent.
func TryStore(context.Context, string) error { return ErrAbsent }

// LeftOut returns nothing.
func (*Sandbox) LeftOut() []LeftOut { return nil }

func (user) do(look func()) error {
	look()
	return nil
}

// Close does nothing.
func (*Sandbox) Close() error { return nil }

// Probe reports that this system has no level.
func Probe(context.Context, string) Found {
	what := "not supported on " + runtime.GOOS
	return Found{Best: None, Kernel: kernel(), Missing: []Missing{{Level: Full, What: what}, {Level: Partial, What: what}}}
}

// ProbeEarly is Probe.
func ProbeEarly(ctx context.Context, dir string, _ *sync.WaitGroup) Found { return Probe(ctx, dir) }

// Features returns nothing: millhand confines commands by features of Linux only.
func Features(Found) []Feature { return nil }

// Harden disables core dumps of the calling process, which holds keys. Other
// processes of the same user may still trace it.
func Harden() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("disable core dumps: %w", err)
	}
	return nil
}

// Adopt does nothing: without a sandbox there is nothing for Sweep.
func Adopt() error { return nil }

// Sweep finds nothing.
func Sweep() (int, error) { return 0, nil }

// FreeProcesses knows no limit.
func FreeProcesses() uint64 { return math.MaxUint64 }
