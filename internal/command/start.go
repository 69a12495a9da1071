package command

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/printable"
)

// Start runs the command line of this process and exits with its code. Signals are those that
// [signals.Catch] caught so far, and catches. Those within the window of a distinct one count as the same; see
// [SameSignal]. Tests change the process's world.
func Start(caught chan os.Signal, window time.Duration, change ...func(*World)) {
	ctx, stop := Signals(context.Background(), caught, window)
	delayCollection()
	allowOwner()
	env, err := TakeEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "millhand: "+printable.Text(err.Error()))
		os.Exit(int(event.ExitInternal))
	}
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

// delayCollection delays the first collection of garbage unless the user has set GOGC. From then on
// garbage is collected as usual.
func delayCollection() {
	usual := debug.SetGCPercent(firstCollection)
	if usual != 100 {
		debug.SetGCPercent(usual)
		return
	}
	// Unreachable, so that the first collection finds it. A cleanup would run only when all of the heap
	// has been swept, which may be at the next collection on a busy machine: at four times the memory in use.
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { debug.SetGCPercent(usual) })
}
