// Package early catches the signals that end a run before main runs, which is milliseconds later:
// the program's larger packages are initialized after this one, which imports none of them. It must be
// imported by main only, because a test that imports it could not be interrupted.
//
// It also delays the first collection of garbage, as main does: what libraries allocate until then is no
// garbage, and collecting it twice took a sixth of the CPU of a start.
package early

import (
	"runtime/debug"

	"github.com/millhand/millhand/internal/proc/signals"
)

var _ = delay() //nolint:gochecknoglobals // before other packages are initialized

func delay() bool {
	const usual, first = 100, 300 // percent of 4 MiB
	if given := debug.SetGCPercent(first); given != usual {
		debug.SetGCPercent(given)
	}
	return true
}

// Caught receives the signals from the start of the process on.
var Caught = signals.Catch() //nolint:gochecknoglobals // initialized before main, and used by it only
