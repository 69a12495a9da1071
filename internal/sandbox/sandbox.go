package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mode is the value of --sandbox.
type Mode string

// The modes.
const (
	Auto     Mode = "auto"     // the best level that the machine supports
	Require  Mode = "require"  // level Full; an error if it is not supported
	External Mode = "external" // a container around millhand is the boundary
	Off      Mode = "off"      // none
)

// modes returns every mode.
func modes() []Mode { return []Mode{Auto, Require, External, Off} }

// Check returns an error that lists the modes if m is invalid.
func (m Mode) Check() error {
	if slices.Contains(modes(), m) {
		return nil
	}
	var names []string
	for _, mode := range modes() {
		names = append(names, string(mode))
	}
	return fmt.Errorf("invalid sandbox mode %q: use one of %s", m, strings.Join(names, ", "))
}

// ErrAbsent is the cause if a required sandbox is not supported by the machine.
var ErrAbsent = errors.New("sandbox not supported on this machine")

// ErrRefused is the cause if a command was not started: it does not exist inside of the sandbox,
// for example, or it exceeds a limit of the job.
var ErrRefused = errors.New("the sandbox did not start the command")

// ErrUnconfined is the ErrRefused of a command that could not be confined. The fault is that of the
// sandbox or the machine, so that other commands can't start either.
var ErrUnconfined = fmt.Errorf("%w, because it can't be confined", ErrRefused)

// State is what confines the children of a job.
type State struct {
	Level        string // A, B, external or none
	FS, Net, PID bool   // whether files, network and processes are confined
	Warning      string // for the user; "" if none
}

// Choose returns the level of a mode on a machine, given the result of Probe. If
// commands can run, it returns ErrAbsent instead of None, except for Off; otherwise
// the runner starts no program that the model chose, and None is sufficient.
func Choose(m Mode, shell bool, f Found) (Level, error) {
	switch m {
	case Off:
		return None, nil
	case External:
		return Outside, nil
	case Require:
		if f.Best != Full {
			return None, absent(m, f)
		}
		return Full, nil
	case Auto:
		if f.Best == None && shell {
			return None, absent(m, f)
		}
		return f.Best, nil
	}
	return None, m.Check()
}

// absent returns an error with what is missing, and alternatives.
func absent(m Mode, f Found) error {
	var missing strings.Builder
	for _, why := range f.Missing {
		missing.WriteString("; " + why.String())
	}
	return fmt.Errorf("--sandbox %s: %w%s; or use a profile without bash, or a container and --sandbox external", m, ErrAbsent, missing.String())
}
