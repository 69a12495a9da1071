//go:build !windows

// Millhand runs AI coding agents in batches and in CI, with nobody in front of
// it. See README.md.
package main

import (
	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/proc/signals/early"
)

func main() { command.Start(early.Caught, command.SameSignal) }
