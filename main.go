// Millhand runs AI coding agents in batches and in CI, with nobody in front of
// it. See README.md.
package main

import (
	"context"
	"os"
	"time"

	"github.com/millhand/millhand/internal/command"
)

func main() {
	env, err := command.TakeEnvironment()
	if err != nil {
		os.Exit(command.Unfit(os.Stderr, err))
	}
	ctx, stop := command.Signals(context.Background())
	code := command.Main(ctx, os.Args, command.World{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: env.Getenv, Secrets: env.Secrets(), Now: time.Now,
	})
	stop()
	os.Exit(code)
}
