// Package store writes the objects of a repository: into one pack, or loose ones, durable or as a cache, and
// trees that differ from given ones in a few paths. It knows no files of a working tree, and
// moves no references: until one leads to the objects, git gc must not remove them.
package store
