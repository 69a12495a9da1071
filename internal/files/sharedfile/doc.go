// Package sharedfile opens, reads, creates and removes files in directories that others may write at the same time: git directories,
// working trees and private directories of commands. It opens only regular files, follows no symlinks in an open directory, and
// removes directories of any depth. It does not know what is stored in them.
package sharedfile
