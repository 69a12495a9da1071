package command

import (
	"context"
	"os"
	"time"
)

// Start runs the command line of this process and exits with its code.
func Start() {
	env, err := TakeEnvironment()
	if err != nil {
		os.Exit(Unfit(os.Stderr, err))
	}
	ctx, stop := Signals(context.Background())
	code := Main(ctx, os.Args, World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: env.Getenv, Secrets: env.Secrets(), Now: time.Now,
	})
	stop()
	os.Exit(code)
}
