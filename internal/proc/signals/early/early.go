// Package early catches the signals that end a run before main runs, which is milliseconds later:
// the program's larger packages are initialized after this one, which imports none of them. It must be
// imported by main only, because a test that imports it could not be interrupted: those of package command,
// of which one is this package's, reset the signals.
package early

import "github.com/millhand/millhand/internal/proc/signals"

// Caught receives the signals from the start of the process on.
var Caught = signals.Catch() //nolint:gochecknoglobals // initialized before main, and used by it only
