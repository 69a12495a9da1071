package sandbox

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Found is what a machine was found able to do.
type Found struct {
	Best     Level // Full, Partial or None
	Landlock int   // the version of the kernel's interface, 0 for none
	Kernel   string
	Missing  []Missing // why it isn't Full; nil if it is
}

// Missing is something that keeps a machine from a level.
type Missing struct {
	Level Level
	What  string // what was tried, and what the kernel answered
	Fix   string // what to do about it; "" if nothing is known
}

// String is the whole in one line.
func (m Missing) String() string {
	text := fmt.Sprintf("no %s sandbox: %s", m.Level, m.What)
	if m.Fix != "" {
		text += "; " + m.Fix
	}
	return text
}

// State is the state of a level on this machine. At less than Full, the start of
// its warning says why the machine has no more.
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

// Feature is something of the kernel that sandboxes are made with.
type Feature struct {
	Name  string
	Works bool   // as the user that millhand runs as
	What  string // what was found
	Fix   string // what to do about it if it doesn't work; "" if nothing is known
}

// kernel returns the release of the running kernel.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
