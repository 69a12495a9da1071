// Package dirent lists open directories, and describes their entries, without an allocation for each entry. It
// neither opens directories nor descends into them.
//
// File.ReadDir of package os has less: its entries describe themselves by the path of the directory, which
// may be another one by then, and those of an os.Root need an lstat each, although the kind is usually all
// that is asked for. It allocates each entry, and the search for private files and the walk of a work tree
// meet tens of thousands. Until Go 1.26.8 is required, it also looks for entries of unknown kind in the
// working directory and leaves out what it does not find there, such as private files that must be hidden.
// The tests fail when the library has what is missing.
package dirent

import (
	"golang.org/x/sys/unix"
)

// List is a list of entries in the form in which the system returns them. An empty list has
// none.
type List []byte

// Kind is the type of an entry.
type Kind uint8

// The kinds of entries. Some file systems report all entries as Unknown.
const (
	Unknown Kind = iota
	Other
	File
	Dir
	Symlink
)

// Entry is an entry of a list, which must not be modified as long as the entry is in use.
type Entry struct {
	Kind Kind
	name []byte // ends with a NUL
}

// Name returns the name, which is valid as long as the list is.
func (e Entry) Name() []byte { return e.name[:len(e.name)-1] }

// KindOf returns the kind of a file by its mode.
func KindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Symlink
	}
	return Other
}
