// Package gitfile opens, reads, creates and removes files in directories that others may write at the same time: git directories
// and working trees. It opens only regular files, follows no symlinks in an open directory, and removes directories of any depth. It
// knows nothing of what git stores in them.
package gitfile
