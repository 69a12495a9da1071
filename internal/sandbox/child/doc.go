// Package child is the code that runs inside of the sandbox, in a child process, before
// the confined command is started. The child is this program, executed again with
// argument 0 set to [Name]. Package sandbox starts it with a [Plan].
//
// The child is the command's supervisor. It creates the mounts (if it has namespaces),
// confines one of its threads, starts the command from that thread, waits for it, kills
// the remaining processes, and reports the exit status. It outlives neither its command
// nor its parent.
//
// It runs in the package's init function: Go initializes
// packages in the order of their import paths, as far as their imports permit, so that
// this package runs before the program's large dependencies spend
// several milliseconds on tables that the child never uses. Therefore it imports only packages
// that package os needs, and [linux] instead of golang.org/x/sys/unix; a test of internal/dev/house
// limits how many are initialized before it. In other processes init does nothing.
package child
