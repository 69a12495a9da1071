// Package command has the tools that run commands: bash, and custom tools. It neither knows what a command line
// does (package shell) nor makes the sandbox that it runs in ([Options]); package proc runs it.
package command

import (
	"time"

	"github.com/millhand/millhand/internal/files/diskusage"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/tool"
)

// Env is what the tools need of a session.
type Env struct {
	*access.Paths
	Options Options
	Environ []string   // of commands
	Hooks   tool.Hooks // which may add to it
	Store   outputs.Store
}

// Options is how the commands of a session are run. The zero value: without a sandbox.
type Options struct {
	Confine proc.Confine       // the sandbox; nil: none
	Granted proc.Confine       // the sandbox of custom tools with Writes, if it is another; nil: Confine
	Disk    *diskusage.Monitor // of what commands write; nil: no limit
	MaxTime time.Duration      // upper limit of timeouts; 0: no limit
	Scratch access.Scratch     // private directories
	Fault   func(error)        // gets the error of a call that failed because the machine lacks something; may be nil
}
