package sandbox

import (
	"errors"
	"fmt"
	"slices"
)

// Mode is what the user asks for with --sandbox.
type Mode string

// The modes.
const (
	Auto     Mode = "auto"     // the best that the machine can do
	Require  Mode = "require"  // full confinement, or nothing runs
	External Mode = "external" // a container around millhand is the boundary
	Off      Mode = "off"      // none
)

// Modes returns every mode.
func Modes() []Mode { return []Mode{Auto, Require, External, Off} }

// ErrAbsent is the cause when a required sandbox can't be had.
var ErrAbsent = errors.New("this release has no sandbox")

// State is what confines the children of a job.
type State struct {
	Level        string // none or external
	FS, Net, PID bool   // what of it is confined
	Warning      string // what the user should know; "" if nothing
}

// Resolve says what a mode comes to on this machine. It fails with ErrAbsent
// where confinement is required, and on a mode that does not exist.
func Resolve(m Mode) (State, error) {
	switch m {
	case Auto:
		return State{Level: "none", Warning: "commands run without a sandbox: this release does not confine them by the kernel, nor does it enforce network: and cache:; use a container and --sandbox external where that matters"}, nil
	case Off:
		return State{Level: "none", Warning: "commands run without a sandbox: --sandbox off"}, nil
	case External:
		return State{Level: "external"}, nil
	case Require:
		return State{}, fmt.Errorf("--sandbox require: %w; run in a container with --sandbox external, or without a profile that has bash", ErrAbsent)
	}
	return State{}, fmt.Errorf("there is no sandbox mode %q; the modes are %v", m, slices.Clone(Modes()))
}
