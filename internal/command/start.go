package command

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc/collection"
	"github.com/millhand/millhand/internal/text/printable"
)

// Start runs the command line of this process and exits with its code. Signals are those that
// [signals.Catch] caught so far, and catches. Those within the window of a distinct one count as the same; see
// [SameSignal]. Tests change the process's world.
func Start(caught chan os.Signal, window time.Duration, change ...func(*world.World)) {
	ctx, stop := Signals(context.Background(), caught, window)
	collection.Run()
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
