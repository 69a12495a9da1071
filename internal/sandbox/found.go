package sandbox

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// ProbeName is the start of the names of the directories that a probe uses and removes.
const ProbeName = "millhand-probe-"

// Found is the result of Probe.
type Found struct {
	Best     Level // Full, Partial or None
	Landlock int   // the version of the kernel's interface, 0 for none
	Kernel   string
	Missing  []Missing // why it isn't Full; nil if it is
}

// Missing is something that keeps a machine from a level.
type Missing struct {
	Level Level
	What  string // what was tried, and the kernel's error
	Fix   string // how to enable it; "" if unknown
}

// String returns level, error and fix in one line.
func (m Missing) String() string {
	text := fmt.Sprintf("no %s sandbox: %s", m.Level, m.What)
	if m.Fix != "" {
		text += "; " + m.Fix
	}
	return text
}

// State returns the state of a level on this machine. Below Full, the start of its
// warning contains why the machine does not support more.
func (f Found) State(l Level) State {
	s := l.State()
	var why []string
	for _, m := range f.Missing {
		why = append(why, fmt.Sprintf("no level %s: %s", m.Level, m.What))
	}
	if what, rest, ok := strings.Cut(s.Warning, ":"); ok && len(why) > 0 {
		s.Warning = fmt.Sprintf("%s (%s):%s", what, strings.Join(why, "; "), rest)
	}
	return s
}

// Feature is a kernel feature that the sandbox uses.
type Feature struct {
	Name  string
	Works bool   // for the user that runs millhand
	What  string // details
	Fix   string // how to enable it; "" if it works or if unknown
}

// kernel returns the release of the running kernel.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
