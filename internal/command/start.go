package command

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/printable"
)

// Start runs the command line of this process and exits with its code. Signals
// within the window of a distinct one count as the same; see [SameSignal]. Tests change the
// process's world.
func Start(window time.Duration, change ...func(*World)) {
	delayCollection()
	env, err := TakeEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "millhand: "+printable.Text(err.Error()))
		os.Exit(int(event.ExitInternal))
	}
	ctx, stop := Signals(context.Background(), window)
	w := World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: env.Getenv, Names: env.names(), Secrets: env.Secrets(), Now: time.Now,
		Proxy: http.ProxyFromEnvironment,
	}
	for _, c := range change {
		c(&w)
	}
	code := Main(ctx, os.Args, w)
	stop()
	os.Exit(code)
}

// firstCollection lets the heap grow to 12 MiB before garbage is collected for the first time. Go
// starts at 4 MiB, which the preflight exceeds two or three times: nearly nothing of it is garbage
// that memory is needed for, and most runs need more later anyway.
const firstCollection = 300 // percent of leastCounted

const (
	leastCounted = 4 << 20 // bytes: Go counts a smaller heap as one of this size
	leastHeap    = 8 << 20 // bytes that the heap may grow to later, which were in use at the first collection
)

// delayCollection delays the collection of garbage unless the user has set GOGC.
func delayCollection() {
	usual := debug.SetGCPercent(firstCollection)
	if usual != 100 {
		debug.SetGCPercent(usual)
		return
	}
	afterCollection(firstCollection)
}

// afterCollection adapts the percentage after each collection.
func afterCollection(was int) {
	marker := new([16]byte) // unreachable, so that the next collection finds it
	runtime.AddCleanup(marker, func(was int) {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		percent := percentFor(memory.NextGC * 100 / uint64(100+was)) //nolint:gosec // positive
		if percent != was {
			debug.SetGCPercent(percent)
		}
		afterCollection(percent)
	}, was)
}

// percentFor returns the percentage of a live heap in bytes by which it may grow: the usual one, or
// more to leastHeap. A smaller heap than leastCounted may seem larger: its next percentage is higher.
func percentFor(live uint64) int {
	const usual, most = 100, 100 * leastHeap / leastCounted
	if live >= leastHeap/2 {
		return usual
	}
	return int(min(most, 100*(leastHeap-live)/max(live, 1))) //nolint:gosec // at most most
}
