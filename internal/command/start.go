package command

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// Start runs the command line of this process and exits with its code. Signals are those that
// [signals.Catch] caught so far, and catches. Those within the window of a distinct one count as the same; see
// [SameSignal]. Tests change the process's world.
func Start(caught chan os.Signal, window time.Duration, change ...func(*world.World)) {
	ctx, stop := Signals(context.Background(), caught, window)
	delayCollection()
	allowOwner()
	env, err := TakeEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "millhand: "+printable.Text(err.Error()))
		os.Exit(int(event.ExitInternal))
	}
	w := world.World{
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

// allowOwner removes from the umask what would deny the user access to the files that this process and
// its children create: with it they could use none of them, which nobody intends.
func allowOwner() {
	const own = 0o700
	given := unix.Umask(0o077) // the only way to read it
	unix.Umask(given &^ own)
}

// firstCollection lets the heap grow to 12 MiB before garbage is collected for the first time. Go
// starts at 4 MiB, which the preflight exceeds two or three times: nearly nothing of it is garbage
// that memory is needed for, and most runs need more later anyway.
const firstCollection = 300 // percent of 4 MiB

// largeHeap is the memory in use from which on garbage is collected when the heap has grown by a quarter of it. Runs and reports
// of thousands of jobs need most of their memory until the end; as much again would be for garbage.
const largeHeap = 30 << 20

// delayCollection delays the first collection of garbage unless the user has set GOGC. From then on
// garbage is collected as usual, until the heap is large.
func delayCollection() {
	const usual = 100
	if given := os.Getenv("GOGC"); given != "" && given != strconv.Itoa(usual) {
		return
	}
	debug.SetGCPercent(firstCollection) // as package early has done in the program
	atCollection(func() {
		debug.SetGCPercent(usual)
		saveMemory()
	})
}

// saveMemory collects garbage more often from the first collection on that finds a large heap.
func saveMemory() {
	atCollection(func() {
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.NextGC < 2*largeHeap { // the usual pace lets it double
			saveMemory()
			return
		}
		debug.SetGCPercent(25)
	})
}

// atCollection calls a function at the next collection of garbage. A cleanup would run only when all of the heap
// has been swept, which may be at the next collection on a busy machine: at four times the memory in use.
func atCollection(call func()) {
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { call() }) // unreachable, so that the collection finds it
}
