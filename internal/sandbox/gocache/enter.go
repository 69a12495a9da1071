package gocache

import (
	"fmt"
	"os"
	"syscall"
)

// init serves the cache in a process that a go command in the sandbox has started, before
// the program's larger packages are initialized; see package child.
func init() { //nolint:gochecknoinits // see above
	if len(os.Args) == 4 && os.Args[1] == Name {
		syscall.Exit(enter(os.Args[2], os.Args[3]))
	}
}

// enter serves the cache and returns the exit code.
func enter(lower, own string) int {
	if err := Serve(os.Stdin, os.Stdout, lower, own); err != nil {
		fmt.Fprintln(os.Stderr, "millhand: serve Go's build cache:", err)
		return 1
	}
	return 0
}
