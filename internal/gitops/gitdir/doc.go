// Package gitdir reads and writes git directories: references and their logs,
// configuration, the index, attributes and locks.
//
// Whatever an agent may have written is read with care: only regular files are
// opened, sizes are bounded, and nothing that is read makes a command run. Writes
// are those of git: a lock beside the file, compare-and-swap of references, fsync,
// and a rename.
//
// Repositories of a kind that it does not know are refused with an UnsupportedError: SHA-256, partial clones,
// reftable. It runs no git itself; [Command] is how other packages run the program. The package knows neither commits that are to be made nor remotes. Objects are read by package
// objectdb, which a [Dir] opens, and the patterns of attributes and of conditional includes are matched by package
// ignore.
package gitdir
