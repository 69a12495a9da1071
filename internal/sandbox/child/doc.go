// Package child is the inside of the sandbox: the code that runs in a child
// process, which is this very program executed again under [Name], before the
// command that is to be confined is started. The side that starts it is package
// sandbox; what the two agree on is [Plan].
//
// The child is the command's supervisor. It makes the mounts (where it has
// namespaces), confines one of its threads, starts the command from that
// thread, waits, ends every process that is left, and says how the command
// ended. It outlives neither its command nor its parent.
//
// It is entered from the package's init function, the only one of the program:
// the language initialises packages in the order of their import paths as far
// as their imports permit, so that this one, which imports little, is reached
// before the program's large dependencies have spent several milliseconds on
// tables that the child never uses. In any process but a child it does nothing.
package child
