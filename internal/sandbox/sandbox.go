package sandbox

import (
	"errors"
	"fmt"
	"strings"
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
var ErrAbsent = errors.New("there is no such sandbox here")

// State is what confines the children of a job.
type State struct {
	Level        string // A, B, external or none
	FS, Net, PID bool   // what of it is confined
	Warning      string // what the user should know; "" if nothing
}

// Choose returns the level that a mode results in on a machine that Probe has
// looked at. With a shell in play, it fails with ErrAbsent rather than choose
// None, unless the user says Off; without, the runner starts nothing that the
// model wrote, and None will do.
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
	return None, fmt.Errorf("there is no sandbox mode %q; the modes are %v", m, Modes())
}

// absent says what is missing, and what else can be done.
func absent(m Mode, f Found) error {
	var missing strings.Builder
	for _, why := range f.Missing {
		missing.WriteString("; " + why.String())
	}
	return fmt.Errorf("--sandbox %s: %w%s; or use a profile without bash, or a container and --sandbox external", m, ErrAbsent, missing.String())
}
