package command

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/printable"
)

// Start runs the command line of this process and exits with its code. Signals
// within the window of a distinct one count as the same; see [SameSignal]. Tests change the
// process's world.
func Start(window time.Duration, change ...func(*World)) {
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
