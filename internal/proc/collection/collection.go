// Package collection decides when garbage is collected. It changes nothing if the user has set GOGC.
package collection

import (
	"runtime"
	"runtime/debug"
)

// first lets the heap grow to 12 MiB before garbage is collected for the first time. Go starts at 4 MiB, which libraries
// exceed before main runs, and the preflight after that: nearly nothing of it is garbage that memory is needed for, and
// collecting it took a sixth of the CPU of a start. Most runs need more later anyway.
const first = 300 // percent of 4 MiB

const usual = 100 // Go's

// large is the memory in use from which on garbage is collected when the heap has grown by a quarter of it. Runs and reports
// of thousands of jobs need most of their memory until the end; as much again would be for garbage.
const large = 30 << 20

// delayed reports that the first collection is delayed. It is, before larger packages are initialized, because this one
// imports none of them.
var delayed = delay() //nolint:gochecknoglobals // before other packages are initialized

// delay delays the first collection, unless the user has set GOGC.
func delay() bool {
	given := debug.SetGCPercent(first)
	if given != usual {
		debug.SetGCPercent(given)
	}
	return given == usual
}

// Run is called once, at the start of main: after the first collection, garbage is collected as usual until the heap is
// large, and more often from then on. Nothing changes if the user has set GOGC.
func Run() {
	if !delayed {
		return
	}
	next(func() {
		debug.SetGCPercent(usual)
		saveMemory()
	})
}

// saveMemory collects garbage more often from the first collection on that finds a large heap.
func saveMemory() {
	next(func() {
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.NextGC < 2*large { // the usual pace lets it double
			saveMemory()
			return
		}
		debug.SetGCPercent(25)
	})
}

// next calls a function at the next collection of garbage. A cleanup would run only when all of the heap
// has been swept, which may be at the next collection on a busy machine: at four times the memory in use.
func next(call func()) {
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { call() }) // unreachable, so that the collection finds it
}
